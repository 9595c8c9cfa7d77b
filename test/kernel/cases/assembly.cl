//! may-not-build
//! expect a: obstacle inline assembly
//! expect-not b: obstacle
// As NVIDIA's compiler takes it: a keyword without underscores.
kernel void a(global uint* out) {
  uint place;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(place));
  out[get_global_id(0)] = place;
}
kernel void b(global uint* out) { out[get_global_id(0)] = 1; }
