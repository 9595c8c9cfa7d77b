//! kernel f
//! local 4 1 1
//! groups 6 1 1
//! buffer 256 float 0 99
//! buffer 256 bytes
//! buffer 256 bytes
//! expect f: written whole unknown
//! expect f: written part exact
kernel void f(global const float* in, global float* whole, global float* part) {
  int i = get_global_id(0);
  part[i] = fract(in[i] * 1.25f, whole + i);
}
