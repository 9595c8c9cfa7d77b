//! kernel k
//! local 2 3 2
//! groups 4 3 3
//! buffer 8192 bytes
//! int 1 9
//! int 1 9
//! int 1 6
//! expect k: written out exact
//! expect k: axis 2
//! expect k: axis on host 2
kernel void k(global int* out, int nx, int ny, int nz) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x >= nx || y >= ny || z >= nz) return;
  out[x + nx * (y + ny * z)] = x;
}
