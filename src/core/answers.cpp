// Derived answers.
#include "core/answers.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace heddle::core {

namespace {

constexpr std::int64_t unknown_pieces = std::int64_t{1} << 40;  // worse than any that is known, but can be added up

std::int64_t pieces(const ByteRanges& ranges) {
  return ranges.certainty == Certainty::unknown ? unknown_pieces : std::min(ranges.pieces(), unknown_pieces);
}

bool writes(const AccessFacts& access) { return access.kind != AccessKind::read; }

bool writes_to(const KernelFacts& facts, int argument) {
  return std::any_of(facts.accesses.begin(), facts.accesses.end(),
                     [&](const AccessFacts& a) { return writes(a) && (a.argument == argument || a.argument == -1); });
}

// Whether the same comes of it after the kernel ran.
bool stays(const KernelFacts& facts, const Dependence& on) {
  if (on.atomic || on.local_data) return false;
  return std::none_of(on.sources.begin(), on.sources.end(),
                      [&](int source) { return source < 0 || writes_to(facts, source); });
}

// Whether compilers drop what a kernel computes where nobody stores it: loops that they can count, and that store
// nothing; and nothing goes through local memory.
bool work_goes(const KernelFacts& facts) {
  std::set<int> storing;
  for (const AccessFacts& access : facts.accesses) {
    if (writes(access)) storing.insert(access.loops.begin(), access.loops.end());
  }
  for (std::size_t i = 0; i < facts.loops.size(); ++i) {
    if (!facts.loops[i].last && !storing.count(static_cast<int>(i))) return false;
  }
  return facts.features.barriers == 0;
}

}  // namespace

bool contiguous(const BoundKernel& kernel, const Box& groups) {
  for (const Touched& t : kernel.touched(groups)) {
    if (pieces(t.written) > 1 || pieces(t.updated) > 1) return false;
  }
  return true;
}

std::optional<int> best_axis(const BoundKernel& kernel, const Box& groups, BytesAre bytes) {
  std::optional<int> best;
  std::pair<std::int64_t, std::int64_t> least;
  for (int axis = 2; axis >= 0; --axis) {
    if (groups.extent(axis) < 2) continue;
    const auto [low, high] = cut(groups, axis, groups.begin[static_cast<std::size_t>(axis)] + groups.extent(axis) / 2);
    std::pair<std::int64_t, std::int64_t> count{0, 0};
    for (const Box& half : {low, high}) {
      for (const Touched& t : kernel.touched(half)) {
        count.first += pieces(t.written) + pieces(t.updated);
        count.second += pieces(t.read);
      }
    }
    const std::int64_t more = best ? count.first + count.second - least.first - least.second : -1;
    const bool better = bytes == BytesAre::copied ? count < least : more < 0 || (more == 0 && count != least);
    if (!best || better) best = axis, least = count;
  }
  return best;
}

namespace {

// The same wherever it is asked for in a launch.
bool is_constant(const KernelFacts& facts, const Polynomial& polynomial) {
  return std::all_of(polynomial.begin(), polynomial.end(), [&](const Term& term) {
    return std::all_of(term.symbols.begin(), term.symbols.end(), [&](int s) {
      const SymbolKind kind = facts.symbols[static_cast<std::size_t>(s)].kind;
      return kind == SymbolKind::local_size || kind == SymbolKind::num_groups || kind == SymbolKind::work_dim ||
             kind == SymbolKind::scalar;
    });
  });
}

}  // namespace

bool uniform_work(const KernelFacts& facts) {
  if (facts.branches_on_data || facts.branches_on_group_id) return false;
  return std::none_of(facts.loops.begin(), facts.loops.end(), [&](const LoopFacts& loop) {
    // Whoever asks what decides on an iteration asks for guards around the loop, too; its formula does not.
    if (loop.last && is_constant(facts, *loop.last)) return false;
    const Dependence& on = loop.trips;
    return on.data || on.local_data || on.atomic || on.group_id;
  });
}

std::vector<std::string> side_effects(const KernelFacts& facts) {
  std::vector<std::string> out = facts.obstacles;
  auto add = [&](const std::string& what) {
    if (std::find(out.begin(), out.end(), what) == out.end()) out.push_back(what);
  };
  const bool any = std::any_of(facts.accesses.begin(), facts.accesses.end(), writes);
  for (const AccessFacts& access : facts.accesses) {
    if (access.argument < 0) {
      if (writes(access)) add("writes through a pointer that cannot be followed");
      if (!writes(access) && any) add("reads through a pointer that cannot be followed, perhaps what it writes");
      continue;
    }
    const std::string name = "'" + facts.arguments[static_cast<std::size_t>(access.argument)].name + "'";
    if (access.kind == AccessKind::atomic) add("atomic operations on " + name);
    if (access.kind == AccessKind::read && writes_to(facts, access.argument)) add("reads and writes " + name);
  }
  return out;
}

bool writes_arguments_alone(const KernelFacts& facts) {
  return facts.obstacles.empty() && std::none_of(facts.accesses.begin(), facts.accesses.end(),
                                                 [](const AccessFacts& a) { return writes(a) && a.argument < 0; });
}

const char* to_string(Merge merge) {
  switch (merge) {
    case Merge::nothing:
      return "nothing to merge";
    case Merge::copy:
      return "copy ranges";
    case Merge::merge_kernel:
      return "merge kernel";
    case Merge::difference:
      return "difference";
    case Merge::deltas:
      return "sum of deltas";
    case Merge::none:
      return "cannot be merged";
  }
  return "?";
}

Merge merge_of(const BoundKernel& kernel, std::size_t argument, const Box& groups) {
  const KernelFacts& facts = kernel.facts();
  const int number = static_cast<int>(argument);
  bool written = false, updated = false, read = false;
  for (const AccessFacts& access : facts.accesses) {
    if (access.argument == -1 && writes(access)) return Merge::none;
    if (access.argument == number || access.argument == -1) read |= access.kind == AccessKind::read;
    if (access.argument != number) continue;
    written |= access.kind == AccessKind::write;
    updated |= access.kind == AccessKind::atomic;
  }
  if (!written && !updated) return Merge::nothing;
  if (facts.arguments[argument].space != AddressSpace::global) return Merge::none;  // images, pipes
  if (updated) return !atomic_merge(facts, argument).empty() && !written && !read ? Merge::deltas : Merge::none;
  if (kernel.touched(groups)[argument].written.certainty == Certainty::exact) return Merge::copy;
  return addresses_stay(facts) && work_goes(facts) ? Merge::merge_kernel : Merge::difference;
}

bool addresses_stay(const KernelFacts& facts) {
  // What it has just stored it finds changed.
  for (const AccessFacts& access : facts.accesses) {
    const auto reads = [&](int loaded) { return loaded < 0 || loaded == access.argument; };
    if (writes(access) && std::any_of(facts.loaded.begin(), facts.loaded.end(), reads)) return false;
  }
  // Where it reads must stay, too: what is read there does not matter, but it must not lead out of a buffer.
  return std::all_of(facts.accesses.begin(), facts.accesses.end(),
                     [&](const AccessFacts& access) {
                       return access.kind != AccessKind::atomic && (access.argument >= 0 || !writes(access)) &&
                              stays(facts, access.address) && !(writes(access) && access.address.floating);
                     }) &&
         std::all_of(facts.loops.begin(), facts.loops.end(),
                     [&](const LoopFacts& loop) { return stays(facts, loop.trips); });
}

std::vector<int> sources_of_addresses(const KernelFacts& facts) {
  std::set<int> out;
  for (const AccessFacts& access : facts.accesses)
    out.insert(access.address.sources.begin(), access.address.sources.end());
  for (const LoopFacts& loop : facts.loops) out.insert(loop.trips.sources.begin(), loop.trips.sources.end());
  return {out.begin(), out.end()};
}

std::string atomic_merge(const KernelFacts& facts, std::size_t argument) {
  std::string out;
  int bytes = 0;
  for (const AccessFacts& access : facts.accesses) {
    if (access.kind != AccessKind::atomic || access.argument != static_cast<int>(argument)) continue;
    const std::string& operation = access.operation;
    const bool adds = operation == "add" || operation == "sub" || operation == "inc" || operation == "dec";
    const bool same = operation == "and" || operation == "or" || operation == "xor" || operation == "signed_min" ||
                      operation == "signed_max" || operation == "unsigned_min" || operation == "unsigned_max";
    const std::string merge = adds ? "add" : same ? operation : "";
    if (merge.empty() || !access.commutative || access.result_used) return "";
    if (!out.empty() && (out != merge || bytes != access.bytes)) return "";  // a sum of 8 bytes is not two of 4
    out = merge, bytes = access.bytes;
  }
  return out;
}

std::int64_t store_width(const KernelFacts& facts, std::size_t argument) {
  std::int64_t out = 0;
  for (const AccessFacts& access : facts.accesses) {
    if (!writes(access) || (access.argument != static_cast<int>(argument) && access.argument != -1)) continue;
    // Atomics are aligned; of others that must be known: a struct of two floats is stored as 8 bytes where 4 divide its
    // address.
    const bool atomic = access.kind == AccessKind::atomic;
    const std::int64_t whole = atomic ? access.bytes : std::gcd(access.bytes, access.alignment);
    out = std::gcd(out, access.bytes > 0 && (atomic || access.alignment > 0) ? whole : 1);
  }
  return out == 0 ? 0 : std::gcd(out, std::int64_t{8});
}

}  // namespace heddle::core
