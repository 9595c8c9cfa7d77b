//! kernel k
//! local 4 1 1
//! groups 7 1 1
//! offset 3 0 0
//! buffer 256 bytes
// Dimensions that are constant though calls stand in them, that have side effects, that are none.
#define DIM(i) ((i) < 1 ? get_global_id(i) : get_group_id(i))
kernel void k(global int* a) {
  const int c = 0;
  enum { zero = 0 };
  int d = 0;
  size_t x = get_global_id(d++), y = get_group_id((d += 0, 0)), z = get_group_id(d = 0);
  int v = get_group_id(zero) + get_group_id(1 ? 0 : get_group_id(0)) + DIM(get_global_id(0) * 0 + 1) +
          get_group_id(sizeof(get_group_id(0)) - sizeof(size_t)) + get_local_size(get_group_id(0) * 0);
  v += get_group_id(3) + 10 * get_global_id(3) + 100 * get_global_offset(3) + get_num_groups(7) + get_global_size(3);
  a[get_global_id(0 && get_group_id(1)) - get_global_id(c) + x] = d + y + z + v;
}
