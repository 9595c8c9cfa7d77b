//! kernel s
//! options -Dx=(x+1)
//! local 4 1 1
//! groups 6 1 1
//! buffer 256 bytes
//! int 1 9
//! expect s: written out exact
// A macro that names itself: a form built again with the same options would count twice.
#undef x
kernel void s(global int* out, int x) {
#define x (x + 1)
  out[get_global_id(0)] = x;
}
