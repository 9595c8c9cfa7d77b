//! kernel u
//! local 8 1 1
//! groups 9 1 1
//! buffer 512 bytes
//! int 0 70
//! expect u: written out exact
// i - 1 wraps in the first work-item, and the guard knows.
kernel void u(global int* out, uint n) {
  uint i = (uint)get_global_id(0) - 1;
  if (i < n) out[i] = i;
}
