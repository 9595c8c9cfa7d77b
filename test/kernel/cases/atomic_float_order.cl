//! options -cl-std=CL2.0
//! may-not-build
//! expect a: updated
//! expect-not obstacle
kernel void a(global atomic_int* sum) { atomic_fetch_add_explicit(sum, (int)get_local_id(0), memory_order_relaxed, memory_scope_device); }
