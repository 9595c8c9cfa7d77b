//! kernel m
//! options -DSIZE=8 -D "TEXT(x)=((x) + 1)" -DNAME=out -D EMPTY
//! local 8 1 1
//! groups 7 1 1
//! buffer 512 bytes
//! expect m: written out exact
#line 500 "elsewhere.cl"
#define ID get_global_id
#define ID0 ID(0)
#define PUT(p, i, v) (p)[i] = (v)
#ifndef EMPTY
#error EMPTY is not defined
#endif
#ifdef CLK_LOCAL_MEM_FENCE
#define FENCE CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE
#endif
#if INT_MAX != 2147483647
#error limits
#endif
kernel void m(global int* NAME) {
  local int t[SIZE];
  t[get_local_id(0)] = (int)as_uint(as_float((uint)TEXT(ID0))) + (int)(M_PI_F * 2);
  barrier(FENCE);
  PUT(out, ID /* ( */ (0), t[SIZE - 1 - get_local_id(0)] + get_group_id /* ) */ (0));
}
