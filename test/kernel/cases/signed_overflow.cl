//! kernel o
//! local 8 1 1
//! groups 9 1 1
//! buffer 262144 bytes
//! expect o: written out may
// Undefined by the standard, but wraps on every device: LLVM must not reason that it cannot happen.
kernel void o(global char* out) {
  int i = (int)get_global_id(0) * 40503 * 65537;
  out[i & 262143] = 1;
}
