//! kernel t
//! local 4 1 1
//! groups 9 1 1
//! buffer 4 int 0 0
//! buffer 1024 bytes
//! expect t: obstacle the result of atomic_inc is used
//! expect t: merge counter: cannot be merged
kernel void t(global int* counter, global int* out) { out[atomic_inc(counter)] = get_global_id(0); }
