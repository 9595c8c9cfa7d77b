//! kernel v
//! local 4 1 1
//! groups 9 1 1
//! buffer 2048 bytes
//! buffer 2048 bytes
//! buffer 2048 bytes
//! int 0 30
//! expect v: written out exact
//! expect v: written three exact
//! expect v: read in exact
kernel void v(global const uchar* in, global float* out, global ushort* three, int n) {
  int i = get_global_id(0);
  if (i < n) {
    uchar4 x = vload4(i, in + 5);
    vstore4(convert_float4(x), i, out);
    vstore3((ushort3)(x.x, x.y, x.z), i, three + 1);
  }
}
