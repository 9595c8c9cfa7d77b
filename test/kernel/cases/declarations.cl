//! kernel d
//! local 4 1 1
//! groups 7 1 1
//! offset 3 0 0
//! buffer 256 bytes
//! expect d: written a exact
//! expect-not obstacle
//! may-not-build
// Every way to declare what is called.
void d(global int*);
typedef int number(int);
number helper, other;
int helper(int x) { return x + get_global_id(0); }
int __attribute__((pcs("aapcs"))) convention(int x) { return get_group_id(0) + x; }
__attribute__((nonnull(1))) int behind(global int* p) { return (p != 0) + (int)get_group_id(0); }
__attribute__((overloadable)) int f(int x) { return get_global_id(0) + x; }
__attribute__((overloadable)) int f(float x) { return get_local_id(0) + x; }
__attribute__((overloadable)) int f(void) { return get_num_groups(0); }
static inline __attribute__((always_inline)) int g(int);
static inline int g(int x) { return f() + x + get_group_id(0); }
int h(int), h2(void);
int h(int q) {
  int g2(int);
  return g2(q) + h2();
}
int g2(int x) { return x + get_global_size(0); }
int h2() { return get_global_offset(0); }
size_t __attribute__((overloadable)) get_group_id(uint d);
kernel void d(global int a[]) {
  a[get_global_id(0)] = helper(1) + convention(2) + behind(a) + f(1) + f(1.f) + g(2) + h(3) + get_group_id(0);
}
kernel void caller(global int* a) { d(a); }
