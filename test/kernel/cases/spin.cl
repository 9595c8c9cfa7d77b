//! expect s: obstacle a loop waits
kernel void s(volatile global int* flag, global int* out) {
  if (get_group_id(0) == 0) *flag = 1;
  while (*flag == 0) {
  }
  out[get_global_id(0)] = 1;
}
