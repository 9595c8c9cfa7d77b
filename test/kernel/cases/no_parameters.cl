//! expect nothing: uniform
//! expect-box kernel void nothing(const ulong4 heddle_base
kernel void nothing(void) {}
kernel void nothing_either() {}
