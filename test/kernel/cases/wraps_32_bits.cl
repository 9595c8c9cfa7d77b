//! kernel w
//! local 8 1 1
//! groups 9 1 1
//! buffer 1024 bytes
//! expect w: written out may
// The product wraps, so no formula tells where it ends up: but the mask does.
kernel void w(global int* out) {
  uint i = (uint)get_global_id(0) * 2654435769u;
  out[i >> 24] = 1;
}
