//! may-not-build
//! expect p: obstacle printf
kernel void p(global int* out) { printf("%d\n", (int)get_global_id(0)); }
