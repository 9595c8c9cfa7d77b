//! kernel rows
//! local 5 4 1
//! groups 5 4 1
//! offset 5 4 0
//! buffer 8192 int -50 50
//! buffer 8192 bytes
//! int 0 30
//! int 0 3
//! expect rows: 12 schedules
//! expect rows: least strides
// Nothing is behind a guard but the store, loops run as far as ids and outer loops say, and a branch stands between two of them.
__kernel void rows(__global const int* in, __global int* out, uint width, int odd) {
  uint x = get_global_id(0), y = get_global_id(1);
  int total = 0, line[2];
  line[0] = line[1] = x;
  for (uint i = 0; i < x; ++i) {
    int here = in[y * 32 + i];
    total += here;
    if ((here & odd) == 0) {
      total ^= i;
      for (uint j = i; j < y + 2; j += 2) {
        line[j & 1] += in[j * 32 + x];
        total += j;
      }
      --total;
    }
    total += 3;
  }
  if (x < width) out[y * 48 + x] = total + line[0] * line[1];
}
