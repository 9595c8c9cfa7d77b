//! kernel k
//! local 4 1 1
//! groups 8 1 1
//! ints 4 0 3
//! buffer 4096 int 0 3
//! buffer 4096 int 0 3
//! buffer 4096 int 0 9
//! expect k: merge out: difference
// What was given by value, but is changed by data.
struct S {
  int t[4];
};
kernel void k(struct S s, global const int* at, global const int* w, global int* out) {
  int i = get_global_id(0);
  for (int j = 0; j < 4; ++j) s.t[j] = w[(i & ~3) + j];
  out[4 * i + s.t[at[i] & 3]] = 7;
}
