//! expect broadcast: obstacle a loop waits
//! expect private_array: obstacle a loop waits
//! expect async_copy: obstacle a loop waits
//! expect at_the_end: obstacle a loop waits
//! expect new_place: obstacle a loop waits
//! expect by_vload: obstacle a loop waits
//! expect other_name: obstacle a loop waits
//! expect passes_by: obstacle a loop waits
//! expect jumps_in: obstacle jumps into a loop
//! expect plain_read: obstacle what atomic operations change is also read
//! expect-not rows: obstacle
//! expect-not search: obstacle
//! expect-not until_settled: obstacle
//! expect-not escape: obstacle
//! expect-not poll_limited: obstacle a loop waits
// Groups that wait for each other, in ways that hide it.
kernel void broadcast(global int* out, volatile global int* flag) {
  local int seen;
  int g = get_group_id(0), l = get_local_id(0);
  do {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) seen = flag[g];
    barrier(CLK_LOCAL_MEM_FENCE);
  } while (!seen);
  out[get_global_id(0)] = 1;
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (l == 0) flag[g + 1] = 1;
}
kernel void private_array(global int* out, volatile global int* flag, int a, int b) {
  int g = get_group_id(0);
  int t[4] = {0, 0, 0, 0};
  do {
    t[a & 3] = flag[g];
  } while (t[b & 3] == 0);
  out[get_global_id(0)] = 1;
  flag[g + 1] = 1;
}
kernel void async_copy(global int* out, global int* flag) {
  local int seen[1];
  int g = get_group_id(0);
  do {
    event_t e = async_work_group_copy(seen, flag + g, 1, 0);
    wait_group_events(1, &e);
  } while (seen[0] == 0);
  out[get_global_id(0)] = 1;
  flag[g + 1] = 1;
}
kernel void at_the_end(global int* out, global int* flag) {
  int g = get_group_id(0);
  int n = 0;
  do {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    n++;
  } while (flag[g] == 0);
  out[get_global_id(0)] = 1;
  flag[g + 1] = 1;
}
kernel void new_place(global int* out, global int* flag, int n) {
  int g = get_group_id(0), i = 0;
  do {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    i = (i + 1) % n;
  } while (flag[g * n + i] == 0);
  out[get_global_id(0)] = 1;
  flag[g * n + n] = 1;
}
kernel void by_vload(global int* out, global int* flag) {
  int g = get_group_id(0);
  while (vload2(g, flag).x == 0) mem_fence(CLK_GLOBAL_MEM_FENCE);
  out[get_global_id(0)] = 1;
  flag[2 * g + 2] = 1;
}
// `in` and `flag` may be one buffer; otherwise it would never end.
kernel void other_name(global int* out, global const int* in, global int* flag) {
  while (in[0] == 0) mem_fence(CLK_GLOBAL_MEM_FENCE);
  flag[0] = 1;
}
// What leads past the only exit decides, too.
kernel void passes_by(global int* out, global int* flag, int n) {
  int i = 0;
  while (1) {
    if (flag[get_group_id(0)] == 0) continue;
    if (++i > n) break;
  }
  flag[get_group_id(0) + 1] = 1;
}
kernel void jumps_in(global int* out, volatile global int* flag, int c) {
  int g = get_group_id(0);
  int n = 0;
  if (c) goto b;
a:
  n++;
  out[100] = n;
b:
  if (flag[g] == 0) goto a;
  out[get_global_id(0)] = n;
  flag[g + 1] = 1;
}
kernel void plain_read(global int* out, volatile global int* c) {
  atomic_inc(c);
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (*c == get_num_groups(0) * get_local_size(0)) out[0] = 1;
}
// And loops that only depend on data.
kernel void rows(global float* y, global const int* row, global const int* column, global float* x) {
  int r = get_global_id(0);
  for (int i = row[r]; i < row[r + 1]; i++) {
    x[column[i]] = 1;
    y[r] += x[column[i] + 1];
  }
}
kernel void search(global int* out, global const int* in, int key) {
  int low = 0, high = 1000;
  while (low < high) {
    int middle = (low + high) / 2;
    if (in[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  out[get_global_id(0)] = low;
}
kernel void until_settled(global int* out, global const int* in) {
  local int moved;
  local int values[64];
  int l = get_local_id(0);
  values[l] = in[get_global_id(0)];
  do {
    barrier(CLK_LOCAL_MEM_FENCE);
    moved = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l > 0 && values[l - 1] > values[l]) values[l] = values[l - 1], moved = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  } while (moved);
  out[get_global_id(0)] = values[l];
}
kernel void escape(global int* out, global const float* in) {
  float x = in[get_global_id(0)], z = 0;
  int n = 0;
  while (z * z < 4 && n < 1000) z = z * z + x, n++;
  out[get_global_id(0)] = n;
}
// Ends whatever others do.
kernel void poll_limited(global int* out, global const int* in, int n) {
  for (int i = 0; i < n; i++)
    if (in[i] == 0) break;
  out[get_global_id(0)] = 1;
}
