//! kernel k
//! local 4 1 1
//! groups 8 1 1
//! buffer 4096 int 0 1000
//! buffer 4096 int -9 9
//! buffer 2048 bytes
//! buffer 2048 bytes
//! buffer 2048 bytes
//! expect k: merge out: merge kernel
//! expect k: merge lanes: merge kernel
//! expect k: merge pairs: merge kernel
//! expect k: merge bytes: merge kernel
//! expect-merge heddle_take4(heddle_box, (__global void*)&(to[at]), 1), (void)(value))
//! expect-merge heddle_lanes4(heddle_box, (__global void*)&(lanes[2 * x + s]), 12)
//! expect-merge heddle_VSTORE(heddle_take1, 3, 3,
//! expect-merge put(heddle_box, out
// Many ways to store: all of them take what another memory holds, and variables change as before.
struct pair {
  float a;
  int b;
};
void put(global int* to, int at, int value) { to[at] = value; }
int twice(int* n) {
  *n += 2;
  return *n;
}
kernel void k(global const int* in, global int* out, global float4* lanes, global struct pair* pairs, global uchar* bytes) {
  int x = get_global_id(0), s = in[x] & 1, n = 0;
  if (in[x] & 2) return;
  put(out, 16 * x + s, in[x] * 3);
  (void)(out[16 * x + 8 + s] = out[16 * x + 10 + s] = x);
  lanes[2 * x + s].y = in[x];
  lanes[2 * x + s].zw = (float2)(1, in[x]);
  (lanes + 2 * x + s)->x = 3;
  pairs[2 * x + s].b = in[x];
  global struct pair* p = pairs + 64 + 2 * x;
  p[s].b = 7, (*p).a = 4;
  for (int i = 0; i < 2 + s; ++i, bytes[32 * x + 8 + i] = 1) {
    const int m = twice(&n);
    bytes[32 * x + i] = m;
  }
  vstore3((uchar3)(1, n, 3), 4 + (n >> 1 & 1), bytes + 32 * x);
  switch (s) {
    case 1:
      out[16 * x + 12] = 9;
      break;
    default:
      if (in[x] & 4)
        out[16 * x + 13] = 2;
      else
        vstore2((int2)(n, 2), 0, out + 16 * x + 14);
  }
}
