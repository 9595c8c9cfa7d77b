//! expect nothing: uniform
//! expect-box kernel void nothing(const uint4 heddle_base
kernel void nothing(void) {}
kernel void nothing_either() {}
