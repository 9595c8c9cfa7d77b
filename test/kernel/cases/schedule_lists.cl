//! kernel lists
//! local 4 1 1
//! groups 4 1 1
//! buffer 512 int 0 9
//! buffer 512 bytes
//! int 0 9
//! expect lists: 2 schedules
//! expect-schedule 0x:4x1x1 'sums' begins with a list
//! expect-schedule x0:4x1x1 int sums[2] = {1, 2};
// An array that is set by a list cannot be set once more for each point.
kernel void lists(global const int* in, global int* out, int n) {
  int i = get_global_id(0);
  int sums[2] = {1, 2};
  for (int k = 0; k < n; ++k) sums[k & 1] += in[i + k];
  out[i] = sums[0] - sums[1];
}
