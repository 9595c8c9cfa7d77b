//! kernel k
//! local 4 1 1
//! groups 4 1 1
//! buffer 4096 int 0 9
//! expect k: merge out: difference
kernel void k(global int* out) {
  int x = get_global_id(0);
  switch (out[2 * x]) {
    case 3:
      out[2 * x] = 7;
      break;
    case 9:
      out[2 * x + 1] = 8;
      break;
    case 100:
      out[2 * x] = 1;
  }
}
