//! kernel k
//! local 4 1 1
//! groups 4 1 1
//! buffer 4096 int 0 9
//! expect k: merge out: difference
// Where it writes depends on what it writes, though no single branch decides.
kernel void k(global int* out) {
  int x = get_global_id(0);
  if (out[2 * x] > 5 || out[2 * x + 1] < 3) out[2 * x] = 0;
}
