//! kernel k
//! local 4 1 1
//! groups 4 1 1
//! buffer 4096 int 0 60
//! int 0 8
//! expect k: merge out: difference
kernel void k(global int* out, int n) {
  int x = get_global_id(0);
  for (int i = 0; i < n; i++)
    if (out[x * 8 + i] > 50) return;
  out[x * 8] = 99;
}
