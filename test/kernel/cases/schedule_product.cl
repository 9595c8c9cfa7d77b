//! kernel product
//! local 4 3 1
//! groups 6 5 1
//! offset 8 6 0
//! buffer 8192 float -9 9
//! buffer 8192 float -9 9
//! buffer 8192 bytes
//! int 1 29
//! int 1 20
//! int 0 13
//! expect product: 6 schedules
//! expect product: least strides 0yx
//! expect-schedule yx0:4x4x1 for (int i = 0; i < depth; ++i)
//! expect-schedule yx0:4x4x1 if (!(column >= width))
//! expect-schedule y0x:4x4x1 float heddle_3_sum[4]
//! expect-schedule 0yx:4x4x1 float heddle_3_sum[4][4]
//! expect-schedule 0yx:4x2x1 heddle_3_sum[heddle_y][heddle_x] +=
//! expect-schedule y0x:4x2x1 if (heddle_count2 == 4)
//! expect-schedule 0xy:4x2x1 if (heddle_count2 == 8)
//! expect-schedule 0xy:4x2x2 the tile is wide along z
//! expect-schedule 0xx:4x2x1 '0xx' is no order
//! expect-schedule 0x:4x2x1 '0x' is no order of its dimensions and loops, as '0xy' is
//! expect-schedule 0xy:99x99x1 more than 4096 points
// Two early returns, and a loop that is the same for all.
__kernel void product(__global const float* a, __global const float* b, __global float* c, int width, int height, int depth) {
  int column = get_global_id(0), row = get_global_id(1);
  if (column >= width) return;
  if (row >= height) { return; }
  float sum = 0;
  for (int i = 0; i < depth; ++i) sum += a[row * depth + i] * b[i * width + column];
  c[row * width + column] = sum;
  return;
}
