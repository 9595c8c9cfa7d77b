//! kernel d
//! local 4 1 1
//! groups 9 1 1
//! buffer 1024 float 0 100
//! buffer 1024 bytes
//! may-not-build
//! expect d: written out exact
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void d(global const float* in, global double* out) {
  size_t i = get_global_id(0);
  out[i] = sqrt((double)in[i]) * get_num_groups(0);
}
