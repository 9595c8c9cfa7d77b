// bfs: the workload whose work nobody can tell from sizes: whether a vertex looks at its neighbours at all, and at how
// many, depends on what the steps before have found.
#include <algorithm>

#include "workloads/sparse_pattern.hpp"
#include "workloads/table.hpp"

namespace heddle::workloads {

namespace {

// One step of a breadth-first search. A row holds the vertices from which an edge leads here. Who has no level yet (-1)
// looks for one of them that the last step has found: so each vertex writes its own level only, and nothing is atomic.
const char* base = R"(
kernel void bfs_base(global const int* row_start, global const int* column, global const int* level_in,
                     global int* level_out, int depth, int n) {
  int v = get_global_id(0);
  if (v < n) {
    int level = level_in[v];
    if (level < 0) {
      int end = row_start[v + 1];
      for (int i = row_start[v]; i < end && level < 0; ++i) {
        if (level_in[column[i]] == depth) level = depth + 1;
      }
    }
    level_out[v] = level;
  }
}
)";

// No work-item stops early: more steps, all of the same kind.
const char* whole_rows = R"(
kernel void bfs_whole_rows(global const int* row_start, global const int* column, global const int* level_in,
                           global int* level_out, int depth, int n) {
  int v = get_global_id(0);
  if (v < n) {
    int level = level_in[v];
    if (level < 0) {
      int end = row_start[v + 1];
      int found = 0;
      for (int i = row_start[v]; i < end; ++i) found += level_in[column[i]] == depth ? 1 : 0;
      level = found > 0 ? depth + 1 : level;
    }
    level_out[v] = level;
  }
}
)";

// 8 work-items per vertex, as in spmv_csr.
const char* vector_8 = R"(
kernel void bfs_vector_8(global const int* row_start, global const int* column, global const int* level_in,
                         global int* level_out, int depth, int n) {
  local int found[128];
  int me = get_local_id(0);
  int lane = me % 8;
  int v = get_global_id(0) / 8;
  int level = v < n ? level_in[v] : 0;
  int mine = 0;
  if (level < 0) {
    int end = row_start[v + 1];
    for (int i = row_start[v] + lane; i < end && mine == 0; i += 8) mine = level_in[column[i]] == depth ? 1 : 0;
  }
  found[me] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0 && v < n) {
    for (int k = 1; k < 8; ++k) mine += found[me + k];
    level_out[v] = mine > 0 ? depth + 1 : level;
  }
}
)";

using Numbers = std::span<const std::int32_t>;

// How many of the vertices before v are looked at until one is at that depth; `found` says whether one is.
std::int64_t looked_at(Numbers row_start, Numbers column, Numbers level, std::size_t v, std::int32_t depth,
                       bool& found) {
  const auto begin = column.begin() + row_start[v], end = column.begin() + row_start[v + 1];
  const auto at = std::find_if(begin, end, [&](std::int32_t from) { return level[from] == depth; });
  found = at != end;
  return at - begin + (found ? 1 : 0);
}

// The whole search: levels of all vertices, -1 for those that are out of reach. What one step finds is at another depth
// than what it looks for, so that one array is enough.
std::vector<std::int32_t> levels_from(std::size_t first, Numbers row_start, Numbers column) {
  std::vector<std::int32_t> level(row_start.size() - 1, -1);
  level[first] = 0;
  bool any = true;
  for (std::int32_t depth = 0; any; ++depth) {
    any = false;
    for (std::size_t v = 0; v < level.size(); ++v) {
      bool found = false;
      if (level[v] < 0) looked_at(row_start, column, level, v, depth, found);
      if (found) level[v] = depth + 1;
      any = any || found;
    }
  }
  return level;
}

// The first level that has the most vertices, but for the one that the search begins with.
std::int32_t fullest_level(Numbers level) {
  std::vector<std::int64_t> vertices(2);
  for (std::int32_t l : level) {
    if (l < 1) continue;
    if (static_cast<std::size_t>(l) >= vertices.size()) vertices.resize(l + 1);
    ++vertices[l];
  }
  return static_cast<std::int32_t>(std::max_element(vertices.begin() + 1, vertices.end()) - vertices.begin());
}

static_assert(fits(most_elements("power_law"),
                   most_elements("power_law") + 3LL * sparse_rows(Size::large, "power_law")));

Instance make(Size size, const std::string& input, std::uint64_t seed) {
  const int n = sparse_rows(size, input);
  std::mt19937_64 random(seed);
  const SparsePattern graph = sparse_pattern(size, input, random);
  const auto levels = levels_from(random() % static_cast<std::uint64_t>(n), graph.row_start, graph.column);
  const std::int32_t next = fullest_level(levels);  // of all steps the one that finds the most
  Instance out;
  out.space = core::box_of(n);
  out.arguments = {array<std::int32_t>("row_start", core::Access::read, n + 1),
                   array<std::int32_t>("column", core::Access::read, graph.column.size()),
                   array<std::int32_t>("level_in", core::Access::read, n),
                   array<std::int32_t>("level_out", core::Access::write, n),
                   scalar<std::int32_t>("depth", next - 1),
                   scalar<std::int32_t>("n", n)};
  std::copy(graph.row_start.begin(), graph.row_start.end(), out.arguments[0].as<std::int32_t>().begin());
  std::copy(graph.column.begin(), graph.column.end(), out.arguments[1].as<std::int32_t>().begin());
  const auto level = out.arguments[2].as<std::int32_t>();
  for (std::size_t v = 0; v < level.size(); ++v) level[v] = levels[v] < next ? levels[v] : -1;
  out.tolerance = {};  // whole numbers
  out.bytes = 4.0 * static_cast<double>(graph.column.size()) + 12.0 * n;
  for (std::size_t v = 0; v < level.size(); ++v) {
    bool found = false;
    if (level[v] < 0)
      out.operations += static_cast<double>(looked_at(graph.row_start, graph.column, level, v, next - 1, found));
  }
  return out;
}

void reference(Instance& instance) {
  auto& a = instance.arguments;
  const auto row_start = a[0].as<std::int32_t>(), column = a[1].as<std::int32_t>();
  const auto level_in = a[2].as<std::int32_t>(), level_out = a[3].as<std::int32_t>();
  const std::int32_t depth = a[4].as<std::int32_t>()[0];
  for (std::size_t v = 0; v < level_out.size(); ++v) {
    bool found = false;
    if (level_in[v] < 0) looked_at(row_start, column, level_in, v, depth, found);
    level_out[v] = found ? depth + 1 : level_in[v];
  }
}

}  // namespace

const Workload bfs{
    .name = "bfs",
    .what = "one step of a breadth-first search: vertices without a level look for a neighbour that was found last",
    .inputs = {"power_law"},
    .variants = {{.name = "base",
                  .source = base,
                  .entry = "bfs_base",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "whole_rows",
                  .source = whole_rows,
                  .entry = "bfs_whole_rows",
                  .group = {128, 1, 1},
                  .footprint = {{128, 1, 1}, true},
                  .cut = core::Cut::by_offset},
                 {.name = "vector_8",
                  .source = vector_8,
                  .entry = "bfs_vector_8",
                  .group = {128, 1, 1},
                  .footprint = {{16, 1, 1}, true},
                  .cut = core::Cut::by_offset}},
    .make = make,
    .reference = reference,
};

}  // namespace heddle::workloads
