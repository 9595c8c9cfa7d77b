//! kernel uneven
//! local 8 1 1
//! groups 12 1 1
//! offset 9 0 0
//! buffer 512 rising 0 900
//! buffer 4096 int 0 99
//! buffer 4096 float 0 100
//! buffer 512 bytes
//! int 0 96
//! expect uneven: 2 schedules
//! expect uneven: least strides x0
//! expect-schedule 0x:5x1x1 while (heddle_any
//! expect-schedule 0x:5x1x1 heddle_go1[heddle_x] = (heddle_2_count[heddle_x] > 0) ? 1 : 0;
//! expect-schedule x0:5x1x1 for (k = start[row]; k < end; k++)
// Loops as long as the data says, behind a condition on data, with a counter that is used behind the loop, a name that hides a parameter's and a
// loop inside that leaves early.
__kernel void uneven(__global const int* start, __global const int* index, __global const float* value, __global float* out, int rows) {
  size_t row = get_global_id(0);
  if (row >= rows) return;
  out[row] = -1.0f;
  int count = start[row + 1] - start[row], k, end = start[row + 1];
  if (count > 0) {
    float sum = 0, parts[2];
    parts[0] = 1.0f, parts[1] = 2.0f;
    for (k = start[row]; k < end; k++) {
      int rows = index[k] % 7;
      for (int j = 0; j < 9; ++j) {
        if (j == rows) break;
        sum += value[k] * j;
      }
      parts[k & 1] += sum;
    }
    out[row] = sum + k + parts[0] - parts[1];
  }
}
