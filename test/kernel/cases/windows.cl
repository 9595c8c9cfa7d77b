//! kernel k
//! local 8 1 1
//! groups 40 1 1
//! offset 5 0 0
//! buffer 2048 int 0 100
//! buffer 2048 int 0 100
//! shared 32
//! buffer 2048 int 0 100
//! buffer 64 int 0 100
//! buffer 2048 bytes
//! int 1 9
//! buffer 8192 bytes
//! buffer 2048 bytes
//! buffer 64 bytes
//! expect k: written out exact
//! expect k: written rows exact
//! expect k: read a exact
//! expect-box global const int* const restrict a
//! expect-window global const int* restrict a
//! expect-window kernel void changing(global int* volatile p,
//! expect-window local int* const shared
//! expect-window global int* restrict out,
//! expect-window global int (*rows)[4], pointer at
//! expect-window const uint4 heddle_offset, const ulong heddle_begin0);
//! expect-window const ulong heddle_begin9) {
//! expect-window rows = (__global void*)((size_t)rows - (size_t)heddle_begin7);
//! expect-window heddle_box.groups, heddle_box.offset, 0);
//! expect-window kernel void before(global int* const p,
//! expect-window kernel void before(global int* p,
// Every way to write a pointer to global memory, and what looks like one: only the first kind has windows.
typedef global int* pointer;
typedef struct {
  int x, y;
} pair;
kernel void before(global int* const p);
kernel void nothing(void) {}
kernel void changing(global int* const volatile p) { p[get_global_id(0)] = 1; }
kernel void k(global const int* const restrict a, global const pair b[], local int* const shared, const volatile global
              int *c, constant int* d, global int* restrict const __const out, const int n,
              global int (*const rows)[4], pointer at, global char* never) {
  const size_t x = get_global_id(0);
  shared[get_local_id(0)] = a[x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[x] = shared[get_local_size(0) - 1 - get_local_id(0)] + b[x / 2].y + c[x] + d[n] + (int)get_group_id(0);
  rows[x][2] = 1;
  if (x % 2) before(&at[x]);
}
kernel void before(global int* const p) { *p = get_num_groups(0); }
