// The workloads by name; each is defined in the file of its name. A new one is a line here, one in CMakeLists.txt, and
// its file.
#pragma once

#include "workloads/workload.hpp"

namespace heddle::workloads {

#define HEDDLE_WORKLOADS(X) \
  X(vector_add)             \
  X(saxpy)                  \
  X(black_scholes)          \
  X(reduce)                 \
  X(transpose)              \
  X(sgemm)                  \
  X(spmv_csr)               \
  X(stencil)                \
  X(sobel)                  \
  X(nbody)                  \
  X(spmv_jds)               \
  X(cutcp)                  \
  X(kmeans)                 \
  X(particle_filter)        \
  X(aes_encrypt)            \
  X(aes_decrypt)            \
  X(binomial_option)        \
  X(box_muller)             \
  X(fdtd3d)                 \
  X(mandelbrot)             \
  X(histogram)              \
  X(histogram_atomic)       \
  X(median_filter)          \
  X(mersenne_twister)       \
  X(scan_large_arrays)      \
  X(bfs)

#define DECLARE(name) extern const Workload name;
HEDDLE_WORKLOADS(DECLARE)
#undef DECLARE

}  // namespace heddle::workloads
