//! kernel k
//! local 4 1 1
//! groups 5 1 1
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 bytes
//! buffer 4096 int 0 40
//! expect k: written padded may
//! expect k: written part may
//! expect k: written one may
//! expect k: written whole exact
// A device copies all of an object, or only the members that were set.
typedef struct {
  char a;
  int b;
  short c;
} Padded;
typedef struct {
  int a, b, c;
} Plain;
typedef union {
  char a;
  int b;
} Either;

Padded padded_of(int v) {
  Padded s = {v, v + 1, v + 2};
  return s;
}
Plain part_of(int v) {
  Plain s;
  s.a = v;
  s.c = v + 2;
  return s;
}
Either one_of(int v) {
  Either u;
  u.a = v;
  return u;
}
Plain whole_of(int v) {
  Plain s = {v, v + 1, v + 2};
  return s;
}

kernel void k(global Padded* padded, global Plain* part, global Either* one, global Plain* whole,
              global const int* in) {
  int x = get_global_id(0);
  padded[x] = padded_of(in[x]);
  part[x] = part_of(in[x]);
  one[x] = one_of(in[x]);
  whole[x] = whole_of(in[x]);
}
