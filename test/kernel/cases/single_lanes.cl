//! kernel k
//! local 4 1 1
//! groups 4 1 1
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 bytes
//! int 0 3
//! expect k: written out exact
//! expect k: written by_group may
//! expect k: written any exact
//! expect-not k: read
// Only these lanes are written: the others may be somebody else's.
kernel void k(global int4* out, global float4* by_group, global int4* any, int n) {
  int x = get_global_id(0), l = get_local_id(0);
  out[x].y = 5;
  out[x + 32].lo = (int2)(1, 2);
  if (get_group_id(0) == 0)
    by_group[l].x = 1;
  else
    by_group[l + 8].y = 2;  // not beside the other: NVIDIA's compiler reads and writes whole vectors
  any[x][n] = 3;
}
