//! kernel gridstride
//! local 8 1 1
//! groups 5 1 1
//! buffer 4096 float 0 100
//! buffer 4096 float 0 100
//! float 3 3
//! int 0 1000
//! expect gridstride: written y exact
//! expect gridstride: box form needed
__kernel void gridstride(__global const float *x, __global float *y, float a, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = a * x[i] + y[i];
}
