//! kernel nested
//! local 4 2 3
//! groups 4 4 2
//! buffer 4096 float -50 50
//! buffer 4096 float -50 50
//! buffer 8192 bytes
//! int 1 16
//! int 0 7
//! int 1 3
//! expect nested: 60 schedules
//! expect-schedule zyx01:2x2x2 for (int i = first; i < n; i += step)
//! expect-schedule z0y1x:2x3x2 const int heddle_1_x = (heddle_first_x + heddle_x);
//! expect-schedule 01xyz:2x3x2 int heddle_6_rounds;
//! expect-schedule 01xyz:2x3x2 float4 heddle_8_sum[2][3][2];
// Three dimensions and two loops, which are not perfectly nested; the bound of one is computed by a division, the other begins at an id.
typedef struct { float best; int at; } Found;
float far(float a, float b) { return fabs(a - b); }
__kernel void nested(__global const float* in, __global const float* table, __global float* out, int width, int n, int step) {
  const int x = get_global_id(0), y = get_global_id(1);
  int z = (int)get_global_id(2);
  if (x < width) {
    int place = (z * 8 + y) * width + x, flat = x + y;
    int rounds = n / step;
    Found found;
    float4 sum = (float4)(0.0f, 1.0f, 2.0f, 3.0f);
    found.best = MAXFLOAT;
    found.at = -1;
    for (int h = 0; h <= rounds; ++h) {
      int first = flat > 3 ? 1 : 0;
      __global const float* row = table + h * 16;
      sum.x += row[flat];
      for (int i = first; i < n; i += step) {
        float d = far(in[(y * 16 + i) & 1023], row[i] + z);
        if (d < found.best) {
          found.best = d;
          found.at = i;
        }
        sum.yz += (float2)(d, -d);
      }
      sum.w += found.best * h;
    }
    out[2 * place] = sum.x + sum.y + sum.z * sum.w;
    out[2 * place + 1] = found.at;
  }
}
