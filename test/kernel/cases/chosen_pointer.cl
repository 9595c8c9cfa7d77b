//! kernel c
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 bytes
//! buffer 4096 bytes
//! int 0 1
//! expect c: written a unknown
//! expect c: written b unknown
kernel void c(global int* a, global int* b, int first) {
  global int* p = first ? a : b;
  p[get_global_id(0)] = 1;
}
