//! kernel f
//! local 4 1 1
//! groups 6 1 1
//! buffer 256 bytes
//! expect f: merge out: difference
kernel void f(global int* out) {
  int i = (int)(get_global_id(0) * 1.5f);
  if (i >= 0 && i < 64) out[i] = 1;
}
