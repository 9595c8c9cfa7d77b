//! options -cl-std=CL2.0
//! may-not-build
//! expect g: obstacle program-scope variable 'counter'
global int counter = 0;
kernel void g(global int* out) { out[get_global_id(0)] = counter; }
