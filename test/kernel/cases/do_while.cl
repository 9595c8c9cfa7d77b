//! kernel d
//! local 4 1 1
//! groups 9 1 1
//! buffer 4096 bytes
//! int -5 20
// The body runs once, whatever n is.
kernel void d(global int* out, int n) {
  int i = 0;
  do {
    out[get_global_id(0) * 24 + i] = i;
    i += 3;
  } while (i < n);
}
