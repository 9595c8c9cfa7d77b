//! kernel blur
//! local 8 4 1
//! groups 5 6 1
//! buffer 6400 bytes
//! buffer 6400 bytes
//! int 1 40
//! int 1 24
//! expect blur: written dst exact
//! expect-box src[
#include "blur_cfg.h"
inline int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }
kernel void blur(global const uchar4 *src, global uchar4 *dst, int w, int h) {
  int2 c = (int2)(get_global_id(0), get_global_id(1));
  if (c.x >= w || c.y >= h) return;
  float4 acc = 0;
  for (int dy = -RAD; dy <= RAD; dy++)
    for (int dx = -RAD; dx <= RAD; dx++)
      acc += convert_float4(src[clampi(c.y + dy, 0, h - 1) * w + clampi(c.x + dx, 0, w - 1)]);
  dst[mad24(c.y, w, c.x)] = convert_uchar4_sat_rte(acc / (float)((2 * RAD + 1) * (2 * RAD + 1)));
}
