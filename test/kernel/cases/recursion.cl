//! may-not-build
//! expect r: obstacle 'down' calls itself
//! expect r: effect writes through a pointer that cannot be followed
// Not allowed by the standard, but compilers take it.
struct hidden { global int* p; };
void down(struct hidden* h, int n) {
  if (n > 0) down(h, n - 1);
  h->p[n] = n;
}
kernel void r(global int* out) {
  struct hidden h;
  h.p = out;
  down(&h, 3);
}
