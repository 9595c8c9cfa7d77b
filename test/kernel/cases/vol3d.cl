//! kernel vol3d
//! local 4 2 2
//! groups 3 4 2
//! buffer 4096 bytes
//! buffer 4096 bytes
//! ints 3 1 8
//! expect vol3d: written out exact
//! expect vol3d: box form needed
struct dims { int x, y, z; };
static inline int lin(struct dims d, int3 p) { return (p.z * d.y + p.y) * d.x + p.x; }
__kernel void vol3d(__global const ushort *in, __global uint *out, struct dims d) {
  int3 p = (int3)(get_global_id(0), get_global_id(1), get_global_id(2));
  if (p.x >= d.x || p.y >= d.y || p.z >= d.z) return;
  out[lin(d, p)] = in[lin(d, p)] * 3u + (uint)(get_group_id(2) * get_num_groups(1) + get_group_id(1)) * 65536u + get_global_size(2);
}
