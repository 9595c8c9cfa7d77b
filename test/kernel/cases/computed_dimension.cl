//! kernel c
//! local 4 2 1
//! groups 6 3 1
//! buffer 4096 bytes
//! expect-box heddle_get_global_id(heddle_box,
kernel void c(global int* out) {
  int d = get_local_id(0) % 2, sum = 0;
  for (uint k = 0; k < get_work_dim() + 2; ++k) sum += get_global_id(k) * 100 + get_global_size(k) + get_num_groups(k++);
  out[get_global_id(1) * 24 + get_global_id(0)] = sum + get_group_id(d);
}
