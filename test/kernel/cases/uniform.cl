//! expect edge: uniform
//! expect two_edges: uniform
//! expect first_item: uniform
//! expect from_local: not uniform
//! expect cases: not uniform
//! expect parity: not uniform
//! expect quarter: not uniform
//! expect one_group: not uniform
//! expect sides: not uniform
// Groups do the same work if all that depends on their place is where the work ends.
kernel void edge(global int* out, int n) {
  if (get_global_id(0) < n) out[get_global_id(0)] = 1;
}
kernel void two_edges(global int* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  for (int i = 0; i < w; i++) out[x + y * w] += i;
}
kernel void first_item(global int* out, global const int* in) {
  if (get_local_id(0) == 0) out[get_group_id(0)] = in[get_group_id(0)];
}
kernel void from_local(global int* out, global const int* in) {
  local int n;
  if (get_local_id(0) == 0) n = in[get_group_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  int s = 0;
  for (int i = 0; i < n; i++) s += i * s + 1;
  out[get_global_id(0)] = s;
}
kernel void cases(global int* out, int n) {
  int s = 0;
  switch (get_group_id(0) % 8) {
    case 0:
    case 3:
    case 5:
      for (int i = 0; i < n; i++) s = s * 3 + i;
      break;
    case 1:
    case 6:
      for (int i = 0; i < n * n; i++) s = s * 5 + i;
      break;
    case 2:
    case 7:
      out[5000] = 3;
  }
  out[get_global_id(0)] = s;
}
kernel void parity(global int* out, int n) {
  int s = 0;
  if (get_group_id(0) % 2)
    for (int i = 0; i < n; i++) s = s * 3 + i;
  out[get_global_id(0)] = s;
}
kernel void quarter(global int* out, int n) {
  int s = 0;
  if (get_group_id(0) % 8 < 2)
    for (int i = 0; i < n; i++) s = s * 3 + i;
  out[get_global_id(0)] = s;
}
kernel void one_group(global int* out, int n) {
  if (get_group_id(0) == 3)
    for (int i = 0; i < n; i++) out[i] = i;
}
kernel void sides(global int* out, global const int* in, int n) {
  int x = get_global_id(0);
  if (x < n)
    out[x] = 1;
  else
    for (int i = 0; i < n; i++) out[x] += in[i];
}
