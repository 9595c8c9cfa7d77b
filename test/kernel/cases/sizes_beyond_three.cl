//! kernel k
//! local 4 2 1
//! groups 4 4 1
//! buffer 4096 bytes
//! expect k: written out unknown
// 1 by the standard, 0 on PoCL.
kernel void k(global char* out) {
  out[get_num_groups(3)] = 1;
  out[get_local_size(4) + 8] = 1;
}
