//! kernel p
//! options -DUF=4
//! local 4 1 1
//! groups 7 1 1
//! offset 3 0 0
//! buffer 256 float 0 99
//! buffer 256 bytes
//! expect p: written out exact
//! expect-box #pragma unroll 4
//! expect-box #pragma clang loop unroll_count(4)
//! expect-box #pragma OPENCL EXTENSION cl_khr_fp64 : enable
// Pragmas name macros, which are gone after preprocessing, and names that are macros but must stay.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define UNROLL _Pragma("unroll UF")
#define SAME(x) x
#pragma push_macro("UF")
#undef UF
#define UF 2
kernel void two(global int* out) {
#pragma unroll UF
  for (int i = 0; i < 2; ++i) out[2 * get_global_id(0) + i] = UF;
}
#pragma pop_macro("UF")
kernel void p(global const float* in, global float* out) {
#pragma OPENCL FP_CONTRACT OFF
  float x = in[get_global_id(0)], s = x * x + x;
#pragma unroll UF
  for (int i = 0; i < UF; ++i) s += i;
#pragma unroll (UF)
  for (int i = 0; i < UF; ++i) s += i;
#pragma clang loop unroll_count(UF)
  for (int i = 0; i < UF; ++i) s += i;
  UNROLL for (int i = 0; i < UF; ++i) s += i;
  SAME(_Pragma("nounroll") for (int i = 0; i < UF; ++i) s += i;)
  out[get_global_id(0)] = s + get_group_id(0);
}
kernel void loop_first(global float* out) {
#pragma unroll
  for (int i = 0; i < 4; ++i) out[4 * get_global_id(0) + i] = i;
}
