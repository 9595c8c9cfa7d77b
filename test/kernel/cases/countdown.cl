//! kernel c
//! local 4 1 1
//! groups 6 1 1
//! buffer 8192 bytes
//! int -4 60
//! expect c: written out exact
kernel void c(global int* out, int n) {
  int i = get_global_id(0);
  for (int j = n; j > 0; j -= 4) out[i * 64 + j] = j;
}
