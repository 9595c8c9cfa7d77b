//! kernel k
//! local 4 1 1
//! groups 8 1 1
//! buffer 4096 int 0 31
//! buffer 4096 int 0 9
//! buffer 4096 int 0 9
//! expect k: merge b: difference
// What was just stored decides: compilers know its value, but run again it is another.
kernel void k(global const int* in, global int* a, global int* b) {
  int x = get_global_id(0);
  a[x] = in[x];
  b[32 * x + a[x]] = x + 1;
}
