//! kernel turn
//! local 8 8 1
//! groups 5 5 1
//! buffer 6400 bytes
//! buffer 6400 float 0 100
//! int 1 40
//! int 1 40
//! expect turn: written out exact
//! expect turn: read in exact
//! expect turn: axis 1
//! expect turn: axis on host 0
__kernel void turn(__global float *out, __global const float *in, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) out[y * w + x] = in[x * h + y];
}
