//! kernel t
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 bytes
//! expect t: written out may
//! expect t: not uniform
kernel void t(global int* out) {
  int i = get_global_id(0);
  for (int j = 0; j <= i; ++j) out[i * 24 + j] = j;
}
