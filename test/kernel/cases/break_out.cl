//! kernel b
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 int 0 9
//! buffer 8192 bytes
//! int 0 30
//! expect b: written out may
kernel void b(global const int* in, global int* out, int n) {
  int i = get_global_id(0);
  for (int j = 0; j < n; ++j) {
    if (in[i * 30 + j] == 3) break;
    out[i * 32 + j] = j;
  }
}
