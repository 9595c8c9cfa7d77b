//! kernel k
//! local 4 1 1
//! groups 8 1 1
//! buffer 4096 int 0 1000
//! buffer 4096 int -9 9
//! buffer 4096 int -9 9
//! expect k: merge out: difference
//! expect-merge (heddle_take4(heddle_box, (__global void*)&(out[4 * x + s]), 1), (void)(5))
//! expect-merge (heddle_take4(heddle_box, (__global void*)&(more[x]), 1))
// What is stored is also loaded: not by its text, but nobody tells the difference.
kernel void k(global const int* in, global int* out, global int* more) {
  int x = get_global_id(0), s = in[x] & 1;
  out[4 * x + s] += 5, out[4 * x + 2]++;
  --out[4 * x + 3];
  out[4 * x + s] = more[x]++;
}
