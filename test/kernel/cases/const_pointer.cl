//! options -cl-std=CL2.0
//! may-not-build
//! expect r: obstacle program-scope variable 'p'
//! expect t: obstacle program-scope variable 'table'
//! expect w: obstacle program-scope variable 'p'
//! expect loaded: obstacle a pointer that cannot be followed
//! expect-not words: obstacle
//! expect-not held: obstacle
// What cannot change itself may still lead to what can.
global int x = 0;
global int* const p = &x;
global int* constant table[] = {&x};
constant char* constant names[] = {"one", "two"};
constant struct { int scale; constant char* name; } named = {2, "three"};
kernel void w(global int* a) { p[0] = a[0]; }
kernel void r(global int* a) { a[get_global_id(0)] = *p; }
kernel void t(global int* a, int i) { a[get_global_id(0)] = *table[i]; }
kernel void loaded(global int* a, global ulong* addresses) {
  a[get_global_id(0)] = *(global int*)addresses[get_global_id(0)];
}
kernel void words(global char* a) { a[get_global_id(0)] = names[get_global_id(0) & 1][0]; }
kernel void held(global int* a) { a[get_global_id(0)] = named.scale + named.name[1]; }
