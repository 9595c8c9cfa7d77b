//! kernel matmul
//! options -DTS=4
//! local 4 4 1
//! groups 5 3 1
//! buffer 4096 int 0 1000
//! buffer 4096 int 0 1000
//! buffer 4096 bytes
//! int 12 12
//! int 20 20
//! int 0 16
//! expect matmul: written C exact
//! expect matmul: box form needed
//! expect matmul: axis 1
//! expect matmul: axis on host 1
//! expect-box reqd_work_group_size(4, 4, 1)
#ifndef TS
#define TS 16
#endif
__kernel __attribute__((reqd_work_group_size(TS, TS, 1)))
void matmul(__global const float *A, __global const float *B, __global float *C, int M, int N, int K) {
  __local float As[TS][TS];
  __local float Bs[TS][TS];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int col = get_group_id(0) * TS + tx;
  const int row = get_group_id(1) * TS + ty;
  float acc = 0.0f;
  for (int t = 0; t < K / TS; t++) {
    As[ty][tx] = A[row * K + t * TS + tx];
    Bs[ty][tx] = B[(t * TS + ty) * N + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TS; k++) acc += As[ty][k] * Bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row * N + col] = acc;
}
