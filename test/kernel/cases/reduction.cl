//! kernel reduction
//! local 16 1 1
//! groups 20 1 1
//! buffer 4096 int 0 100
//! buffer 256 bytes
//! shared 64
//! int 0 0
//! expect reduction: written out exact
//! expect reduction: read in exact
__kernel void reduction(__global const int *in, __global int *out, __local int *s, uint n) {
  uint l = get_local_id(0);
  uint i = get_group_id(0) * (get_local_size(0) * 2) + l;
  s[l] = in[i] + in[i + get_local_size(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = get_local_size(0) / 2; k > 0; k >>= 1) {
    if (l < k) s[l] += s[l + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = s[0];
}
