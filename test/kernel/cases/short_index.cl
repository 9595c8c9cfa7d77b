//! kernel s
//! local 64 1 1
//! groups 9 1 1
//! buffer 512 bytes
//! expect s: written out may
kernel void s(global char* out) {
  uchar i = (uchar)(get_global_id(0) * 3);
  out[i] = 1;
}
