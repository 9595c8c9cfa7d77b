//! kernel helper
//! local 4 2 1
//! groups 6 5 1
//! offset 3 5 0
//! buffer 1024 bytes
//! buffer 1024 int 0 1000
//! expect helper: written o exact
//! expect helper: box form needed
//! expect-box const heddle_box_t heddle_box
#define GID(d) get_global_id(d)
#define AT(p, x, y) (p)[flat((x), (y))]
static size_t flat(size_t x, size_t y);
static size_t flat(size_t x, size_t y) { return (y - get_global_offset(1)) * get_global_size(0) + x - get_global_offset(0); }
static int rank_of(void) { return get_num_groups(0) * get_group_id(1) + get_group_id(0); }
void put(__global int *o, int v) { AT(o, GID(0), GID(1)) = v; }
__kernel void helper(__global int *o, __global const int *in) {
  uint d = get_work_dim() - 1;
  put(o, AT(in, GID(0), GID(1)) * 1000 + rank_of() + (int)get_local_id(d) * 7 + (int)get_num_groups(d));
}
