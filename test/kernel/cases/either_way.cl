//! kernel e
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 int 0 9
//! buffer 4096 bytes
//! expect e: written out exact
// Both ways write the same place.
kernel void e(global const int* in, global int* out) {
  int i = get_global_id(0);
  if (in[i] > 4) out[i] = 1;
  else out[i] = in[i] * 7;
}
