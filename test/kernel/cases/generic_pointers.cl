//! options -cl-std=CL2.0
//! may-not-build
//! expect g: written out
//! expect-not obstacle
void put(int* p, int v) { *p = v; }
kernel void g(global int* out, global const int* in) {
  int mine = in[get_global_id(0)];
  put(&mine, mine + 1);
  put(out + get_global_id(0), mine);
}
