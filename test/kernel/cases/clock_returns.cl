//! kernel leaves
//! local 8 1 1
//! groups 12 1 1
//! buffer 512 int 0 100
//! buffer 512 bytes
//! int 0 90
//! expect leaves: written out may
//! expect-clock goto heddle_done
//! expect-clock put(out, x, i)
//! expect-clock kernel void empty(heddle_clock_t heddle_clock)
// Every way to leave a kernel early.
void put(global int* out, int x, int value) { out[x] = value; }
kernel void leaves(global const int* in, global int* out, int n) <%
  int x = get_global_id(0);
  if (x >= n) return;
  for (int i = 0; i < 8; ++i) {
    if (in[x] == i)
      return put(out, x, i);
    else if (in[x] == 2 * i + 50)
      return;
  }
  switch (in[x] % 3) {
    case 0:
      return put(out, x, -1);
    case 1: {
      out[x] = 1;
      return;
    }
  }
  int rest = in[x];
  out[x] = rest;
%>
kernel void empty(void) { return; }
