//! options -cl-std=CL2.0
//! may-not-build
//! expect any_of_group: obstacle a loop waits
//! expect by_image: obstacle a loop waits
//! expect lock: obstacle the result of atomic_compare_exchange_strong is used
//! expect expected_value: obstacle the result of atomic_compare_exchange_strong is used
//! expect clangs_own: obstacle the result of __opencl_atomic_fetch_add
//! expect older: obstacle the result of atomicrmw is used
//! expect through_constant: obstacle
//! expect-not counts: obstacle
global int scope_variable;
global int* constant to_it = &scope_variable;
kernel void any_of_group(global int* out, global int* flag) {
  int g = get_group_id(0);
  do {
    work_group_barrier(CLK_GLOBAL_MEM_FENCE);
  } while (!work_group_any(flag[g]));
  out[get_global_id(0)] = 1;
  flag[g + 1] = 1;
}
kernel void by_image(read_write image2d_t img, global int* out) {
  int g = get_group_id(0);
  while (read_imagei(img, (int2)(g, 0)).x == 0)
    atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
  out[get_global_id(0)] = 1;
  write_imagei(img, (int2)(g + 1, 0), (int4)(1));
}
kernel void lock(global int* out, global atomic_int* mutex) {
  int e;
  do {
    e = 0;
    atomic_compare_exchange_strong(mutex, &e, 1);
  } while (e != 0);
  out[0] += 1;
  atomic_store(mutex, 0);
}
kernel void expected_value(global int* out, global atomic_int* c) {
  int e = 0;
  atomic_compare_exchange_strong(c, &e, 5);
  out[get_global_id(0)] = e;
}
kernel void clangs_own(global int* out, global atomic_int* c) {
  int t = __opencl_atomic_fetch_add(c, 1, memory_order_relaxed, memory_scope_device);
  out[t] = get_global_id(0);
}
kernel void older(global int* out, global int* c) {
  int t = __sync_fetch_and_add(c, 1);
  out[t] = get_global_id(0);
}
kernel void through_constant(global int* out) {
  *to_it += 1;
  out[get_global_id(0)] = 1;
}
kernel void counts(global atomic_int* c) { atomic_fetch_add(c, 1); }
