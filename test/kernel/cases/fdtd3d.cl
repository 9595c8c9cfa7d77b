//! kernel fdtd3d
//! local 16 16 1
//! groups 2 2 1
//! buffer 80000 bytes
//! buffer 80000 float 0 100
//! buffer 20 float 1 5
//! int 9 24
//! int 9 20
//! int 0 4
//! int 0 7
//! expect fdtd3d: written out exact
#define RADIUS 4
__kernel void fdtd3d(__global float *out, __global const float *in, __constant float *coef, const int dimx, const int dimy, const int dimz, const int padding) {
  const int gx = get_global_id(0), gy = get_global_id(1);
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int stride_y = dimx + 2 * RADIUS;
  const int stride_z = stride_y * (dimy + 2 * RADIUS);
  int idx = gy * stride_y + gx + RADIUS * stride_y + RADIUS + padding;
  __local float tile[16 + 2 * RADIUS][16 + 2 * RADIUS];
  float infront[RADIUS], behind[RADIUS], current;
  const bool valid = gx < dimx && gy < dimy;
  const int tx = lx + RADIUS, ty = ly + RADIUS;
  for (int i = RADIUS - 2; i >= 0; i--) { behind[i] = in[idx]; idx += stride_z; }
  current = in[idx]; int oidx = idx; idx += stride_z;
  for (int i = 0; i < RADIUS; i++) { infront[i] = in[idx]; idx += stride_z; }
  for (int iz = 0; iz < dimz; iz++) {
    for (int i = RADIUS - 1; i > 0; i--) behind[i] = behind[i - 1];
    behind[0] = current; current = infront[0];
    for (int i = 0; i < RADIUS - 1; i++) infront[i] = infront[i + 1];
    infront[RADIUS - 1] = in[idx];
    idx += stride_z; oidx += stride_z;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (ly < RADIUS) {
      tile[ly][tx] = in[oidx - RADIUS * stride_y];
      tile[ly + get_local_size(1) + RADIUS][tx] = in[oidx + get_local_size(1) * stride_y];
    }
    if (lx < RADIUS) {
      tile[ty][lx] = in[oidx - RADIUS];
      tile[ty][lx + get_local_size(0) + RADIUS] = in[oidx + get_local_size(0)];
    }
    tile[ty][tx] = current;
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = coef[0] * current;
    for (int i = 1; i <= RADIUS; i++)
      v += coef[i] * (infront[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
    if (valid) out[oidx] = v;
  }
}
