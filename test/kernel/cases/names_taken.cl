//! kernel k
//! local 4 1 1
//! groups 9 1 1
//! buffer 256 bytes
//! int 1 9
//! expect k: written heddle_base exact
//! expect-box heddle1_base
//! expect-clock heddle1_clock
// The program uses the names that the box form would like to have.
kernel void k(global int* heddle_base, int heddle_count) { heddle_base[get_global_id(0)] = heddle_count + get_group_id(0); }
