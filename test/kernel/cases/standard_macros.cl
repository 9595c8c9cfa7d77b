//! kernel s
//! options -cl-std=CL1.2 -cl-fast-relaxed-math -DM_PI_F=2.0f -DCL_RUNNING=5
//! local 4 1 1
//! groups 7 1 1
//! offset 3 0 0
//! buffer 256 bytes
//! expect-box 2 + 4 + 7 + 5 + 11 + 3
// What the standard does not define is the program's; what #if asks for has its value.
#if FLT_DIG == 6 && FLT_MANT_DIG >= 24 && FLT_MIN_EXP == -125 && FLT_RADIX == DBL_RADIX && CHAR_BIT == 8
#define FLOATS 2
#else
#define FLOATS 3
#endif
#ifndef MAX_WORK_DIM
#define MAX_WORK_DIM 4
#endif
#ifndef CL_COMPLETE
#define CL_COMPLETE 7
#endif
#ifndef ATOMIC_VAR_INIT
#define ATOMIC_VAR_INIT(x) (x)
#endif
#ifdef __FAST_RELAXED_MATH__
#define RELAXED 3
#else
#define RELAXED 4
#endif
kernel void s(global float* out) {
  int x = FLOATS + MAX_WORK_DIM + CL_COMPLETE + CL_RUNNING + 11 + RELAXED;
  out[get_global_id(0)] = M_PI_F + MAXFLOAT + x + ATOMIC_VAR_INIT(3);
}
