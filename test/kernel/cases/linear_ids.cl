//! kernel k
//! options -cl-std=CL2.0
//! local 2 3 2
//! groups 3 4 2
//! offset 3 2 5
//! buffer 4096 bytes
//! may-not-build
int place(void) { return get_global_linear_id(); }
size_t any(uint d) {
  return get_global_id(d) - get_global_offset(d) + get_global_size(d) * get_num_groups(d) + get_group_id(d);
}
kernel void k(global int* a) {
  int v = 0;
  for (uint d = 0; d < get_work_dim(); ++d) v = v * 31 + any(d);
  a[place()] = v;
}
