//! kernel outer
//! local 8 1 1
//! groups 10 1 1
//! buffer 512 int 0 100
//! buffer 512 bytes
//! expect outer: written out exact
//! expect inner: box form needed
//! expect-box heddle_box.base, heddle_box.count
//! expect-clock if (heddle_clock) heddle_begin(heddle_clock)
//! expect-clock inner(in, out, 0)
kernel void inner(global const int* in, global int* out) {
  out[get_global_id(0)] = in[get_global_id(0)] + (int)get_num_groups(0);
}
void between(global const int* in, global int* out) { inner(in, out); }
kernel void outer(global const int* in, global int* out) { between(in, out); }
