//! kernel pointers
//! local 4 1 1
//! groups 4 1 1
//! buffer 512 int 0 9
//! buffer 512 bytes
//! int 0 9
//! expect pointers: 2 schedules
//! expect-schedule 0x:4x1x1 int heddle_2_own[4];
//! expect-schedule 0x:4x1x1 &heddle_2_own[heddle_x]
// A variable that the loop knows by its address alone.
kernel void pointers(global const int* in, global int* out, int n) {
  int i = get_global_id(0);
  int own = in[i], *at = &own;
  for (int k = 0; k < n; ++k) *at += in[i + k];
  out[i] = *at;
}
