//! expect waits: no schedules: its work-items work together: barrier
//! expect keeps: no schedules: it declares 'tile', which is not private
//! expect shares: no schedules: it has local memory
//! expect counts: no schedules: it uses atomics, whose order may matter
//! expect asks_local: no schedules: it asks for get_local_id
//! expect asks_size: no schedules: it asks for get_global_size
//! expect asks_group: no schedules: it asks for get_group_id
//! expect computes: no schedules: it asks for the global id of a dimension that is computed
//! expect asks_nothing: no schedules: it does not ask for its global id
//! expect jumps: no schedules: it jumps by goto
//! expect leaves: no schedules: it returns from within
//! expect leaves_behind: no schedules: it returns from within
//! expect changes: no schedules: it changes its parameters, or takes an address of one
//! expect steps: no schedules: it changes its parameters, or takes an address of one
//! expect sized: no schedules: it says how large its groups must be
//! expect far_away: no schedules: a helper asks for the global id
//! expect calls: no schedules: it calls a kernel
//! expect prints: no schedules: it calls printf
//! expect types: no schedules: it declares something other than variables
//! expect breaks: 1 schedules
//! expect two: 1 schedules
//! expect whiles: 1 schedules
kernel void waits(global int* o) { int i = get_global_id(0); barrier(CLK_GLOBAL_MEM_FENCE); o[i] = i; }
kernel void keeps(global int* o) { local int tile[4]; int i = get_global_id(0); tile[i & 3] = i; o[i] = tile[i & 3]; }
kernel void shares(global int* o, local int* t) { int i = get_global_id(0); o[i] = i; }
kernel void counts(global int* o) { int i = get_global_id(0); o[i] = atomic_inc(o + 99); }
kernel void asks_local(global int* o) { o[get_global_id(0)] = get_local_id(0); }
kernel void asks_size(global int* o) { o[get_global_id(0)] = get_global_size(0); }
kernel void asks_group(global int* o) { o[get_global_id(0)] = get_group_id(0); }
kernel void computes(global int* o, uint d) { o[get_global_id(d)] = 1; }
kernel void asks_nothing(global int* o) { o[0] = 1; }
kernel void jumps(global int* o) { int i = get_global_id(0); if (i > 3) goto end; o[i] = i; end:; }
kernel void leaves(global int* o, int n) { int i = get_global_id(0); for (int k = 0; k < n; ++k) { if (o[k]) return; } o[i] = i; }
kernel void leaves_behind(global int* o, int n) { int i = get_global_id(0); for (int k = 0; k < n; ++k) o[i] += k; if (i > 4) return; o[i] = 0; }
kernel void changes(global int* o, int n) { int i = get_global_id(0); n += i; o[i] = n; }
kernel void steps(global int* o) { o += get_global_id(0); *o = 1; }
__attribute__((reqd_work_group_size(4, 1, 1))) kernel void sized(global int* o) { o[get_global_id(0)] = 1; }
int here() { return get_global_id(0); }
kernel void far_away(global int* o) { o[get_global_id(0)] = here(); }
kernel void calls(global int* o) { o[get_global_id(0)] = 1; asks_nothing(o); }
kernel void prints(global int* o) { o[get_global_id(0)] = 1; printf("1"); }
kernel void types(global int* o) { typedef int T; T i = get_global_id(0); o[i] = 1; }
// These have schedules, but no loop that a dimension may go inside of.
kernel void breaks(global int* o, int n) { int i = get_global_id(0); for (int k = 0; k < n; ++k) { if (o[i] == k) break; o[i]++; } }
kernel void two(global int* o, int n) { int i = get_global_id(0); for (int k = 0; k < n; ++k) o[i] += k; for (int k = 0; k < n; ++k) o[i] *= k; }
kernel void whiles(global int* o, int n) { int i = get_global_id(0); int k = 0; while (k < n) { o[i] += k; ++k; } }
