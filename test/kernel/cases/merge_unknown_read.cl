//! kernel k
//! local 4 1 1
//! groups 4 1 1
//! buffer 4096 int 0 60
//! buffer 4096 int 0 60
//! int 0 1
//! int 0 1
//! expect k: obstacle a pointer that cannot be followed
//! expect k: effect reads through a pointer that cannot be followed
//! expect k: merge out: cannot be merged
//! expect k: merge plain: copy ranges
// It may read what it adds to.
kernel void k(global int* out, global int* plain, int s, int t) {
  global int* p[2];
  p[s & 1] = out;
  p[(s + 1) & 1] = plain;
  int x = get_global_id(0);
  int v = p[t & 1][x + 100];
  atomic_add(&out[x], v);
  plain[x] = 1;
}
