//! kernel r
//! local 32 1 1
//! local 64 1 1
//! groups 6 1 1
//! buffer 4096 float 0 10
//! buffer 256 bytes
//! int 0 40
//! expect r: written out exact
// Eight lanes to a row; one of them writes.
kernel void r(global const float* in, global float* out, int rows) {
  local float sums[64];
  int me = get_local_id(0), lane = me % 8, row = get_global_id(0) / 8;
  sums[me] = row < rows ? in[row * 8 + lane] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int w = 4; w > 0; w /= 2) {
    if (lane < w) sums[me] += sums[me + w];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0 && row < rows) out[row] = sums[me];
}
