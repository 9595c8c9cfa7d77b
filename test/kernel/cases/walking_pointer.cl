//! kernel w
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 bytes
//! int 0 20
//! expect w: written out unknown
kernel void w(global int* out, int n) {
  global int* p = out + get_global_id(0) * 20;
  for (global int* end = p + n; p < end; ++p) *p = 5;
}
