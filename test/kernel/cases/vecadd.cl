//! kernel vecadd
//! local 16 1 1
//! local 7 1 1
//! groups 40 1 1
//! offset 9 0 0
//! buffer 4096 float 0 100
//! buffer 4096 float 0 100
//! buffer 4096 bytes
//! int -3 600
//! expect vecadd: written c exact
//! expect vecadd: read a exact
//! expect vecadd: uniform
//! expect vecadd: offset is enough
//! expect vecadd: merge c: copy ranges
//! expect vecadd: contiguous
//! expect-box get_global_id(0)
__kernel void vecadd(__global const float *a, __global const float *b, __global float *c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
