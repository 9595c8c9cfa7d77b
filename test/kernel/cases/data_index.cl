//! kernel d
//! local 4 1 1
//! groups 6 1 1
//! buffer 256 bytes
//! buffer 1024 bytes
//! expect d: written out may
//! expect d: merge out: merge kernel
// The index is data, but a byte of it cannot be far.
kernel void d(global const uchar* in, global int* out) { out[in[get_global_id(0)]] = 1; }
