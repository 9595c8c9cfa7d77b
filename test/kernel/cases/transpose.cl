//! kernel transpose
//! local 16 16 1
//! groups 3 3 1
//! buffer 12544 bytes
//! buffer 12544 float 0 100
//! int 1 48
//! int 1 48
//! shared 1088
//! expect transpose: written out exact
//! expect transpose: read in exact
#define TILE 16
__kernel void transpose(__global float *out, __global const float *in, int w, int h, __local float *tile) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) tile[get_local_id(1) * (TILE + 1) + get_local_id(0)] = in[y * w + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * TILE + get_local_id(0);
  y = get_group_id(0) * TILE + get_local_id(1);
  if (x < h && y < w) out[y * h + x] = tile[get_local_id(0) * (TILE + 1) + get_local_id(1)];
}
