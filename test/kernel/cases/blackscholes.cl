//! kernel blackscholes
//! local 16 1 1
//! groups 16 1 1
//! buffer 1024 float 50 100
//! buffer 1024 bytes
//! buffer 1024 bytes
//! float 1 1
//! float 2 2
//! expect blackscholes: written call exact
//! expect blackscholes: written put exact
float phi(float X) {
  float absX = fabs(X), t = 1.0f / (1.0f + 0.2316419f * absX);
  float y = 1.0f - 0.398942280f * exp(-X * X / 2.0f) * t * (0.319381530f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
  return (X < 0.0f) ? (1.0f - y) : y;
}
__kernel void blackscholes(const __global float *S, __global float *call, __global float *put, float R, float V) {
  size_t i = get_global_id(0);
  float s = S[i], K = 100.0f, T = 1.0f + s * 0.01f;
  float sq = V * sqrt(T);
  float d1 = (log(s / K) + (R + V * V * 0.5f) * T) / sq, d2 = d1 - sq;
  float kexp = K * exp(-R * T);
  call[i] = s * phi(d1) - kexp * phi(d2);
  put[i] = kexp * phi(-d2) - s * phi(-d1);
}
