//! kernel saxpy
//! local 8 1 1
//! groups 20 1 1
//! buffer 2560 float 0 100
//! buffer 2560 float 0 100
//! float 2 2
//! expect saxpy: written y exact
//! expect saxpy: effect reads and writes 'y'
#define IDX get_global_id(0)
__kernel void saxpy(__global float4 *y, __global const float4 * restrict x, const float a) {
  size_t i = IDX;
  y[i] += a * x[i];
}
