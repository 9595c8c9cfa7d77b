//! expect l: obstacle the result of atomic_add is used
kernel void l(global int* count, global float* partial, global float* total) {
  partial[get_group_id(0)] = 1;
  if (atomic_add(count, 1) == get_num_groups(0) - 1) total[0] = partial[0];
}
