// What the kernel compiler found out about a kernel, as values: its arguments, every access to global memory with its
// index as a polynomial, loops, guards, and what stands in the way of cutting it. byte_ranges.hpp evaluates it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"

namespace heddle::core {

// Closed on both ends.
struct Interval {
  std::int64_t low = 0, high = 0;

  bool operator==(const Interval&) const = default;
};

// What an index can depend on. Every symbol stands for a whole number of any size, never for one that wraps: where the
// kernel's arithmetic may wrap, a function `wrap_*` stands around it, so that a polynomial is either true or says that
// nobody knows.
enum class SymbolKind {
  group_id,
  local_id,
  local_size,
  num_groups,
  global_offset,
  work_dim,
  scalar,    // (part of) a kernel argument passed by value
  loop,      // iterations of a loop that are over: 0 in the first
  function,  // of other polynomials
  opaque     // loaded data or anything else that no formula describes
};

struct Symbol {
  SymbolKind kind = SymbolKind::opaque;
  int index = 0;                  // the dimension, argument, loop or function; opaque values are numbered
  int byte = 0, size = 0;         // scalar: which bytes of the argument
  bool is_signed = true;          // scalar: how to read them
  std::optional<Interval> known;  // opaque: all that its type or its computation says
  // opaque: loaded from a place that these symbols say, all of them before this one; nothing: from nobody knows where
  std::optional<std::vector<int>> loaded_from = std::nullopt;

  bool operator==(const Symbol&) const = default;
};

// The sum of coefficient times symbols (numbers in KernelFacts::symbols, ascending, repeated for powers).
struct Term {
  std::int64_t coefficient = 0;
  std::vector<int> symbols;

  bool operator==(const Term&) const = default;
};
using Polynomial = std::vector<Term>;  // terms ascending by their symbols, none of coefficient zero

enum class FunctionKind {
  wrap_signed,    // the value that is left when only `bits` bits are kept, read as signed
  wrap_unsigned,  // the same, read as unsigned
  divide,         // towards zero
  remainder,      // with the sign of the dividend
  floor_divide,
  minimum,
  maximum,
  choose,  // either of its operands
  bit_and,
  bit_or
};

struct Function {
  FunctionKind kind = FunctionKind::choose;
  int bits = 64;
  std::vector<Polynomial> operands;

  bool operator==(const Function&) const = default;
};

// Conditions under which something runs.
enum class GuardKind {
  at_most_zero,  // the polynomial is <= 0
  not_zero,
  data,   // depends on loaded data
  opaque  // anything else
};

struct Guard {
  GuardKind kind = GuardKind::opaque;
  Polynomial value;
};

// What values depend on, as flags.
struct Dependence {
  bool arguments = false;  // scalar arguments
  bool sizes = false;      // sizes of the launch
  bool group_id = false;
  bool local_id = false;
  bool data = false;         // loaded from global or constant memory, or from anything that cannot be told
  bool local_data = false;   // loaded from local or private memory
  bool floating = false;     // floating-point arithmetic
  bool atomic = false;       // the result of an atomic
  std::vector<int> sources;  // arguments from which data was loaded, ascending; -1: some that cannot be told
};

struct LoopFacts {
  int parent = -1;
  bool single_exit = false;  // leaves at its end only
  // Its last iteration as a polynomial, where it can be computed when the loop is entered.
  std::optional<Polynomial> last;
  // Loops that count in steps: `at_most_zero` of this, in which the loop's own symbol occurs, holds in every iteration
  // but the first, and in the first too where `tested_first`. Only true if all of `conditions` are at most zero.
  std::optional<Polynomial> while_at_most_zero;
  bool tested_first = false;
  std::vector<Polynomial> conditions;
  Dependence trips;  // what the number of iterations depends on
};

enum class AccessKind { read, write, atomic };

struct AccessFacts {
  AccessKind kind = AccessKind::read;
  int argument = -1;                // -1: which one cannot be told; it may be any
  int bytes = 0;                    // from the index on
  int padding = 0;                  // of a write: bytes behind these that are no data, and that devices may overwrite
  int alignment = 0;                // of a write: what its address is a multiple of; 0: not known
  std::optional<Polynomial> index;  // byte offset from the argument's beginning; none: anywhere in the argument
  std::vector<Guard> guards;        // all hold whenever the access happens
  bool guards_suffice = false;      // and whenever all hold, it happens
  std::vector<int> loops;           // around it, outermost first
  std::string operation;            // of an atomic ("add"), or the builtin that does the access ("vstore4")
  bool commutative = false;         // of an atomic: the order of such operations does not matter
  bool result_used = false;         // of an atomic
  bool is_volatile = false;
  Dependence address;  // of index and guards together
};

enum class AddressSpace { value, global, constant, local, image, sampler, other };

const char* to_string(AddressSpace);

struct ArgumentFacts {
  std::string name;
  std::string type;  // as the source spells it
  AddressSpace space = AddressSpace::value;
  Bytes size = 0;  // of a value
};

// The static ones among the features of the streaming seed's tables 1 and 2, counted in the kernel with its helpers
// inlined, one per instruction (vector lanes count each for floating-point operations).
struct FeatureCounts {
  int instructions = 0, loads = 0, stores = 0, local_loads = 0, local_stores = 0, branches = 0, floating_operations = 0,
      integer_operations = 0, math_calls = 0, atomics = 0, barriers = 0, loops = 0, deepest_loop = 0;
};

// Which work-item functions a kernel calls, with its helpers.
struct IdUses {
  bool global_id = false, local_id = false, group_id = false;
  bool global_size = false, local_size = false, num_groups = false, global_offset = false;
};

// What schedules are made of (schedule.hpp): the dimensions of work-items that a kernel asks for, and the loops around
// its innermost work that dimensions may go inside of.
constexpr int most_nested_loops = 4;  // 210 schedules with three dimensions; more are nothing to choose from
struct Nest {
  std::vector<int> dimensions;  // ascending
  int loops = 0;                // each inside the one before
  std::string refused;          // why there are no schedules; empty: there are
};

struct KernelFacts {
  std::string name;
  std::vector<ArgumentFacts> arguments;
  std::vector<std::int64_t> required_group;  // reqd_work_group_size: three extents, or empty
  std::vector<Symbol> symbols;
  std::vector<Function> functions;
  std::vector<LoopFacts> loops;
  std::vector<AccessFacts> accesses;
  IdUses uses;
  // Arguments that its text loads from, ascending; -1: some that cannot be told. Among accesses there is no load of
  // what the same work-item has just stored.
  std::vector<int> loaded;
  FeatureCounts features;
  bool branches_on_data = false;       // control flow depends on loaded data, of whatever memory
  bool branches_on_group_id = false;   // the group's place chooses what work is done, and that is no bounds check
  Bytes local_memory = 0;              // declared in the kernel, without local arguments
  std::vector<std::string> obstacles;  // why it must not be run in boxes, a line each; empty: it may
  // Some of them are memory beside its arguments, or work that it starts itself: of those, a kernel that is built from
  // the same source once more has others.
  bool elsewhere = false;
  Nest nest;
};

// All of one source.
struct ProgramFacts {
  std::vector<KernelFacts> kernels;
};

// Whether the original kernel with a global offset does what the box form does: it knows its place from get_global_id
// (and local ids and sizes) alone.
bool offset_is_enough(const KernelFacts& facts);

// The text that the kernel compiler and its client exchange and the cache keeps. Reading throws UsageError for a text
// that is no facts, or whose numbers point outside of its own tables.
std::string to_json(const ProgramFacts& facts);
ProgramFacts program_facts_from_json(const std::string& text);

}  // namespace heddle::core
