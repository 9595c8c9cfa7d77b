//! kernel bfs
//! local 8 1 1
//! groups 1 1 1
//! buffer 800 int 0 9
//! buffer 400 int 0 99
//! buffer 100 bytes
//! buffer 100 bytes
//! buffer 100 bytes
//! buffer 400 int 5 5
//! int 0 8
//! expect bfs: written mask may
//! expect bfs: merge mask: difference
//! expect bfs: not uniform
//! expect-not obstacle
typedef struct { int start; int deg; } node_t;
__kernel void bfs(__global const node_t *nodes, __global const int *edges, __global char *mask, __global char *upd, __global const char *visited, __global int *cost, int n) {
  int t = get_global_id(0);
  if (t < n && mask[t]) {
    mask[t] = 0;
    for (int i = nodes[t].start; i < nodes[t].deg + nodes[t].start; i++) {
      int id = edges[i];
      if (!visited[id]) { cost[id] = cost[t] + 1; upd[id] = 1; }
    }
  }
}
