//! kernel k
//! local 4 1 1
//! groups 5 1 1
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 float 0 9
//! expect k: written f exact
//! expect k: written c exact
//! expect k: written chosen exact
//! expect k: written h may
// Three lanes are written; devices differ in what they do to the place of a fourth.
kernel void k(global float3* f, global char3* c, global float3* chosen, global half* h, global const float* in) {
  int x = get_global_id(0);
  float3 v;
  v.x = in[x], v.y = in[x + 1], v.z = in[x + 2];
  f[x] = v;
  c[x] = (char3)(1, 2, x);
  if (in[x] > 4)
    chosen[x] = v;
  else
    chosen[x] = (float3)(1, 2, 3);
  vstorea_half3(v, x, h);
}
