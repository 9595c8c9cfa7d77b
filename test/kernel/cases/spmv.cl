//! kernel spmv
//! local 8 1 1
//! groups 12 1 1
//! buffer 512 rising 0 900
//! buffer 4096 int 0 99
//! buffer 4096 float 0 100
//! buffer 400 float 0 100
//! buffer 512 bytes
//! int 0 96
//! expect spmv: written y exact
//! expect spmv: read x may
//! expect spmv: not uniform
__kernel void spmv(__global const int *rp, __global const int *ci, __global const float *va, __global const float *x, __global float *y, int rows) {
  int r = get_global_id(0);
  if (r >= rows) return;
  float s = 0;
  for (int k = rp[r]; k < rp[r + 1]; k++) s += va[k] * x[ci[k]];
  y[r] = s;
}
