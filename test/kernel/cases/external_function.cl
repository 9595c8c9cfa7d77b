//! may-not-build
//! expect e: obstacle calls 'elsewhere'
int elsewhere(int x);
kernel void e(global int* out) { out[get_global_id(0)] = elsewhere(1); }
