//! kernel stencil5
//! local 8 4 1
//! local 5 3 1
//! groups 6 7 1
//! buffer 10240 float 0 100
//! buffer 10240 bytes
//! int 0 50
//! int 0 30
//! expect stencil5: written out exact
//! expect stencil5: uniform
__kernel void stencil5(__global const float *in, __global float *out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= 1 && y >= 1 && x < w - 1 && y < h - 1)
    out[y * w + x] = 0.2f * (in[y * w + x] + in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
}
