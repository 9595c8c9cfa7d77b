//! kernel nbody
//! local 8 1 1
//! groups 8 1 1
//! buffer 2048 float 0 100
//! buffer 2048 bytes
//! int 1 64
//! float 1 1
//! float 1 1
//! expect nbody: written out exact
//! expect nbody: uniform
typedef struct { float4 p; float4 v; } body_t;
__kernel void nbody(__global const body_t *in, __global body_t *out, int n, float dt, float eps) {
  int i = get_global_id(0);
  float4 p = in[i].p, v = in[i].v;
  float3 a = (float3)(0.0f, 0.0f, 0.0f);
  for (int j = 0; j < n; j++) {
    float4 q = in[j].p;
    float3 r = q.xyz - p.xyz;
    float d = rsqrt(dot(r, r) + eps);
    a += q.w * d * d * d * r;
  }
  v.xyz += dt * a;
  p.xyz += dt * v.xyz;
  out[i].p = p;
  out[i].v = v;
}
