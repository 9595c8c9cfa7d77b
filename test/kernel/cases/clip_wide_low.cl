//! kernel k
//! local 4 1 1
//! groups 4 2 1
//! buffer 4096 bytes
//! int 13 15
//! expect k: written out may
kernel void k(global int* out, int n) {
  int i = get_group_id(1) * 20 + get_group_id(0) * 8 + get_local_id(0);
  if (i >= n) vstore4((int4)(1), 0, out + i);
}
