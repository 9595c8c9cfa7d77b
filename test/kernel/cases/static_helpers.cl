//! kernel s
//! local 4 1 1
//! groups 9 1 1
//! buffer 256 bytes
//! expect s: written out exact
static int value(void);
static int twice(int x) { return 2 * x + value(); }
static int value(void) { return get_group_id(0) * 10 + get_num_groups(0); }
kernel void s(global int* out) { out[get_global_id(0)] = twice(get_local_id(0)); }
