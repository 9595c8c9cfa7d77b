//! kernel k
//! local 4 1 1
//! groups 2 2 1
//! buffer 4096 bytes
//! int 70 71
//! expect k: written out may
// Not every i occurs, and what is written at one reaches over the next: the guard's limit is no limit of bytes.
kernel void k(global int* out, int n) {
  int i = get_group_id(1) * 64 + get_group_id(0) * 8 + get_local_id(0);
  if (i < n) vstore4((int4)(1), 0, out + i);
}
