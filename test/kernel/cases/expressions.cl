//! kernel k
//! local 4 1 1
//! groups 7 1 1
//! offset 3 0 0
//! buffer 256 bytes
// Calls in the odd corners of the language.
#define MAXI(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
typedef struct __attribute__((packed)) { char c; int i; } P;
typedef union { int i; float f; uchar4 b; } U;
P packed(int x) {
  P p = {1, x + get_global_id(0)};
  return p;
}
U joined(P p, U u) {
  u.i += p.i * (int)get_num_groups(0);
  return u;
}
int size(void) { return sizeof(get_global_id(0)); }
kernel void k(global int* a) {
  __typeof__(get_global_id(0)) x = get_global_id(0);
  int array[sizeof(get_global_id(0))];
  struct { int b[sizeof(get_group_id(0))]; } s;
  for (int i = 0; i < 8; i++) { array[i] = i; s.b[i] = i; }
  size_t v[3] = {[0] = get_global_id(0), [1] = get_global_id(1), get_group_id(0)};
  int4 q = (int4)(get_global_id(0), get_global_id(1), 1, get_group_id(get_work_dim() - 1));
  int i = MAXI((int)get_global_id(0), (int)get_group_id(0));
  switch (get_group_id(0) & 1) { case 0: i += get_num_groups(0); case 1: i++; }
  U u;
  u.f = as_float((int)get_global_id(0));
  goto end;
end:
  a[x] = i + q.x + q.w + v[2] + array[x & 7] + s.b[2] + size() + vec_step(get_global_id(0)) +
         ((int2)(get_global_id(0), 3)).y + (int){get_group_id(0)} + *(&(int){get_group_id(0)}) +
         joined(packed(3), u).i + (get_group_id(0) & 1 ? get_group_id(0), 5 : size());
}
