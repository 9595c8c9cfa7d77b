//! kernel s
//! local 4 1 1
//! groups 6 1 1
//! buffer 4096 bytes
//! ints 2 1 9
// The struct that was passed by value is changed before it is used.
struct two { int a, b; };
kernel void s(global int* out, struct two t) {
  if (get_local_id(0) == 1) t.a = t.b * 2;
  out[get_global_id(0) * 20 + t.a] = 1;
}
