//! kernel early
//! local 8 1 1
//! groups 20 1 1
//! buffer 1024 int 0 100
//! buffer 1024 bytes
//! int 0 20
//! expect early: written out exact
//! expect-clock goto heddle_done
// Whole groups return before a barrier.
kernel void early(global const int* in, global int* out, int groups) {
  local int tile[8];
  if (get_group_id(0) >= groups) return;
  int l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[7 - l];
}
