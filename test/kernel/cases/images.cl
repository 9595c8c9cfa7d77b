//! may-not-build
//! expect i: read in
//! expect i: written out
//! expect-not obstacle
kernel void i(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, read_imagef(in, s, at) * (float)get_num_groups(0));
}
