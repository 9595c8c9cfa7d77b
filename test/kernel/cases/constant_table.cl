//! kernel c
//! local 4 1 1
//! groups 9 1 1
//! buffer 256 bytes
//! buffer 64 int 0 5
//! expect c: written out exact
//! expect c: read weights may
//! expect-not obstacle
constant int table[4] = {3, 1, 4, 1};
kernel void c(global int* out, constant int* weights) {
  int i = get_global_id(0);
  out[i] = table[i % 4] * weights[i & 15];
}
