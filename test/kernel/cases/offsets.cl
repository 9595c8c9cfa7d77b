//! kernel o
//! local 4 2 1
//! groups 5 4 1
//! offset 7 3 0
//! buffer 8192 bytes
//! expect o: written out exact
kernel void o(global int* out) {
  out[get_global_id(1) * 40 + get_global_id(0)] = get_global_offset(0) * 100 + get_global_size(1) + get_group_id(0);
}
