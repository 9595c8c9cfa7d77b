//! kernel h
//! local 4 1 1
//! groups 9 1 1
//! buffer 1024 float 0 100
//! buffer 1024 bytes
//! may-not-build
//! expect h: written out exact
kernel void h(global const float* in, global half* out) {
  int i = get_global_id(0);
  vstore_half(in[i], i, out);
}
