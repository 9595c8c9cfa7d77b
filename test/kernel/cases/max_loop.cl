//! kernel m
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 float 0 9
//! buffer 4096 bytes
//! int 0 200
//! expect m: written out exact
kernel void m(global const float* in, global float* out, int n) {
  int begin = get_global_id(0) * 8, end = min(begin + 8, n);
  for (int i = max(begin, 0); i < end; ++i) out[i] = in[i];
}
