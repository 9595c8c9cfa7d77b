//! kernel histogram
//! local 64 1 1
//! local 100 1 1
//! groups 9 1 1
//! buffer 1024 bytes
//! buffer 2048 int 0 9
//! int 0 900
//! expect histogram: updated bins may
//! expect histogram: merge bins: sum of deltas
//! expect histogram: effect atomic operations on 'bins'
//! expect-not obstacle
__kernel void histogram(__global const uchar *data, __global uint *bins, int n) {
  __local uint h[256];
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) h[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int gid = get_global_id(0);
  if (gid < n) atomic_inc(&h[data[gid]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_local_id(0); i < 256; i += get_local_size(0))
    if (h[i]) atomic_add(&bins[i], h[i]);
}
