// Kernels of random programs: for fake devices with hand-made facts, for real ones in OpenCL C, and what they do to
// plain arrays, which is the reference.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/box_form.hpp"
#include "device/fake_device.hpp"
#include "engine/engine.hpp"

namespace heddle::engine {

using device::FakeArguments;
using device::WorkItem;

// Facts of accesses to 32-bit elements.
class FactsMaker {
 public:
  explicit FactsMaker(std::string name) { facts_.name = std::move(name); }

  FactsMaker& buffer() { return argument(core::AddressSpace::global, 0); }
  FactsMaker& value() { return argument(core::AddressSpace::value, 4); }

  // Element `scale` * global id of `dimension` + `plus`, and with a width (the number of a value argument): + width *
  // global id of the next dimension.
  FactsMaker& access(core::AccessKind kind, int argument, std::int64_t plus = 0, int width = -1,
                     bool transposed = false, std::int64_t scale = 1) {
    core::AccessFacts a = prototype(kind, argument);
    core::Polynomial index;
    if (plus != 0) index.push_back({4 * plus, {}});
    add_id(index, transposed ? 1 : 0, -1, scale);
    if (width >= 0)
      add_id(index, transposed ? 0 : 1, symbol({.kind = core::SymbolKind::scalar, .index = width, .size = 4}));
    a.index = index;
    a.guards_suffice = true;
    facts_.accesses.push_back(std::move(a));
    return *this;
  }
  FactsMaker& anywhere(core::AccessKind kind, int argument, const char* atomic = "add") {
    facts_.accesses.push_back(prototype(kind, argument));
    if (kind == core::AccessKind::atomic) facts_.accesses.back().operation = atomic;
    return *this;
  }
  // Asks for its group, so that an offset is not enough.
  FactsMaker& asks_for_groups() {
    facts_.uses.group_id = true;
    return *this;
  }
  // Points take as long as data say.
  FactsMaker& branches() {
    facts_.branches_on_data = true;
    return *this;
  }
  FactsMaker& obstacle(std::string what) {
    facts_.obstacles.push_back(std::move(what));
    return *this;
  }
  core::KernelFacts make() const { return facts_; }

 private:
  FactsMaker& argument(core::AddressSpace space, Bytes size) {
    facts_.arguments.push_back({"a" + std::to_string(facts_.arguments.size()),
                                space == core::AddressSpace::value ? "int" : "int*", space, size});
    return *this;
  }
  core::AccessFacts prototype(core::AccessKind kind, int argument) {
    facts_.uses.global_id = true;
    core::AccessFacts a;
    a.kind = kind, a.argument = argument, a.bytes = 4;
    if (kind == core::AccessKind::atomic) a.operation = "add", a.commutative = true;
    return a;
  }
  int symbol(const core::Symbol& s) {
    for (std::size_t i = 0; i < facts_.symbols.size(); ++i) {
      if (facts_.symbols[i] == s) return static_cast<int>(i);
    }
    facts_.symbols.push_back(s);
    return static_cast<int>(facts_.symbols.size()) - 1;
  }
  // 4 * (group * size + local + offset), times a symbol where one is given
  void add_id(core::Polynomial& to, int dimension, int times, std::int64_t scale = 1) {
    const int group = symbol({.kind = core::SymbolKind::group_id, .index = dimension}),
              size = symbol({.kind = core::SymbolKind::local_size, .index = dimension}),
              local = symbol({.kind = core::SymbolKind::local_id, .index = dimension}),
              offset = symbol({.kind = core::SymbolKind::global_offset, .index = dimension});
    for (std::vector<int> symbols : {std::vector{group, size}, std::vector{local}, std::vector{offset}}) {
      if (times >= 0) symbols.push_back(times);
      std::sort(symbols.begin(), symbols.end());
      to.push_back({4 * scale, symbols});
    }
  }

  core::KernelFacts facts_;
};

struct TestKernel {
  core::KernelFacts facts;
  std::function<void(const WorkItem&, FakeArguments&)> body;
  int buffers = 0;  // arguments that are memory come first
  int dimensions = 1;
  bool has_facts = true;
  std::string text;         // the same in OpenCL C
  std::int64_t points = 1;  // of another kernel that a work-item computes: it is a variant
};

inline std::int32_t plus(std::int64_t a, std::int64_t b) {  // wraps
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

inline std::int32_t mixed(std::int32_t x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) * 2654435761U + 12345U);
}

// The bodies index by the global id in the order of OpenCL; a last value argument `n` says how many elements there are.
inline const std::map<std::string, TestKernel>& test_kernels() {
  using core::AccessKind;
  static const auto& all = *[] {
    auto out = new std::map<std::string, TestKernel>;
    auto add = [&](const std::string& name, const FactsMaker& facts, int buffers, int dimensions,
                   const std::string& text, std::function<void(const WorkItem&, FakeArguments&)> body) {
      static const std::string mixed = "int mixed(int x) { return (int)((uint)x * 2654435761u + 12345u); }\n";
      const std::string in_and_out =
          "(global const int* in, global int* out, int n) { const size_t i = get_global_id(0); ";
      (*out)[name] = {
          facts.make(), std::move(body),
          buffers,      dimensions,
          true,         mixed + "kernel void " + name + (text.front() == '(' ? text : in_and_out + text + " }\n")};
    };
    auto at = [](const WorkItem& i) { return static_cast<std::size_t>(i.global_id[0]); };
    add("map", FactsMaker("map").buffer().buffer().value().access(AccessKind::read, 0).access(AccessKind::write, 1), 2,
        1, "out[i] = mixed(in[i]);", [=](const WorkItem& i, FakeArguments& a) {
          a.buffer<std::int32_t>(1)[at(i)] = mixed(a.buffer<std::int32_t>(0)[at(i)]);
        });
    add("bump", FactsMaker("bump").buffer().value().access(AccessKind::read, 0).access(AccessKind::write, 0), 1, 1,
        "(global int* x, int n) { const size_t i = get_global_id(0); x[i] = (int)((uint)x[i] + (uint)i + 1u); }",
        [=](const WorkItem& i, FakeArguments& a) {
          std::int32_t& x = a.buffer<std::int32_t>(0)[at(i)];
          x = plus(x, static_cast<std::int64_t>(at(i)) + 1);
        });
    add("blur",
        FactsMaker("blur")
            .buffer()
            .buffer()
            .value()
            .access(AccessKind::read, 0, -1)
            .access(AccessKind::read, 0)
            .access(AccessKind::read, 0, 1)
            .access(AccessKind::write, 1),
        2, 1, "out[i] = (int)((uint)mixed(in[i == 0 ? 0 : i - 1] ^ in[i]) + (uint)in[i + 1 < n ? i + 1 : i]);",
        [=](const WorkItem& i, FakeArguments& a) {
          const auto in = a.buffer<std::int32_t>(0);
          const auto n = static_cast<std::size_t>(a.scalar<std::int32_t>(2)), x = at(i);
          a.buffer<std::int32_t>(1)[x] = plus(mixed(in[x == 0 ? 0 : x - 1] ^ in[x]), in[x + 1 < n ? x + 1 : x]);
        });
    add("groups",
        FactsMaker("groups")
            .buffer()
            .buffer()
            .value()
            .access(AccessKind::read, 0)
            .access(AccessKind::write, 1)
            .asks_for_groups(),
        2, 1, "out[i] = (int)((uint)in[i] + 1000u * (uint)get_group_id(0) + (uint)get_num_groups(0));",
        [=](const WorkItem& i, FakeArguments& a) {
          a.buffer<std::int32_t>(1)[at(i)] =
              plus(a.buffer<std::int32_t>(0)[at(i)], 1000 * i.group_id[0] + i.num_groups[0]);
        });
    add("scatter",
        FactsMaker("scatter").buffer().buffer().value().access(AccessKind::read, 0).anywhere(AccessKind::write, 1), 2,
        1, "out[i * 7 % n] = mixed(in[i]);", [=](const WorkItem& i, FakeArguments& a) {
          const auto n = static_cast<std::size_t>(a.scalar<std::int32_t>(2));
          // 7 has no common factor with the powers of two and three that sizes are made of
          a.buffer<std::int32_t>(1)[at(i) * 7 % n] = mixed(a.buffer<std::int32_t>(0)[at(i)]);
        });
    add("count",
        FactsMaker("count").buffer().buffer().value().access(AccessKind::read, 0).anywhere(AccessKind::atomic, 1), 2, 1,
        "atomic_add(&out[in[i] & 3], 1);", [=](const WorkItem& i, FakeArguments& a) {
          std::int32_t& x = a.buffer<std::int32_t>(1)[static_cast<std::size_t>(a.buffer<std::int32_t>(0)[at(i)] & 3)];
          x = plus(x, 1);
        });
    add("walk",
        FactsMaker("walk")
            .buffer()
            .buffer()
            .value()
            .access(AccessKind::read, 0)
            .access(AccessKind::write, 1)
            .branches(),
        2, 1, "int x = in[i]; for (int k = 0; k < (in[i] & 7); ++k) x = mixed(x); out[i] = x;",
        [=](const WorkItem& i, FakeArguments& a) {
          const std::int32_t value = a.buffer<std::int32_t>(0)[at(i)];
          std::int32_t x = value;
          for (std::int32_t k = 0; k < (value & 7); ++k) x = mixed(x);
          a.buffer<std::int32_t>(1)[at(i)] = x;
        });
    // What different memories have done to it cannot be joined.
    add("sums",
        FactsMaker("sums")
            .buffer()
            .buffer()
            .value()
            .access(AccessKind::read, 0)
            .anywhere(AccessKind::atomic, 1)
            .anywhere(AccessKind::atomic, 1, "or"),
        2, 1, "atomic_add(&out[in[i] & 3], 1); atomic_or(&out[4 + (in[i] & 7)], in[i]);",
        [=](const WorkItem& i, FakeArguments& a) {
          const std::int32_t value = a.buffer<std::int32_t>(0)[at(i)];
          const auto to = a.buffer<std::int32_t>(1);
          std::int32_t& x = to[static_cast<std::size_t>(value & 3)];
          x = plus(x, 1);
          to[static_cast<std::size_t>(4 + (value & 7))] |= value;
        });
    add("whole",
        FactsMaker("whole")
            .buffer()
            .buffer()
            .value()
            .access(AccessKind::read, 0)
            .access(AccessKind::write, 1)
            .obstacle("for the test"),
        2, 1, "if (n < 0) printf(\"never\"); out[i] = ~in[i];", [=](const WorkItem& i, FakeArguments& a) {
          a.buffer<std::int32_t>(1)[at(i)] = ~a.buffer<std::int32_t>(0)[at(i)];
        });
    add("turn",
        FactsMaker("turn")
            .buffer()
            .buffer()
            .value()
            .value()
            .access(AccessKind::read, 0, 0, 2)
            .access(AccessKind::write, 1, 0, 3, true),
        2, 2,
        "(global const int* in, global int* out, int w, int h) { const int x = get_global_id(0), y = get_global_id(1); "
        "out[x * h + y] = mixed(in[y * w + x]); }",
        [](const WorkItem& i, FakeArguments& a) {
          const auto w = static_cast<std::size_t>(a.scalar<std::int32_t>(2)),
                     h = static_cast<std::size_t>(a.scalar<std::int32_t>(3));
          const auto x = static_cast<std::size_t>(i.global_id[0]), y = static_cast<std::size_t>(i.global_id[1]);
          a.buffer<std::int32_t>(1)[x * h + y] = mixed(a.buffer<std::int32_t>(0)[y * w + x]);
        });
    add("unknown",
        FactsMaker("unknown").buffer().buffer().value().access(AccessKind::read, 0).access(AccessKind::write, 1), 2, 1,
        "out[i] = in[i] ^ 77;", [=](const WorkItem& i, FakeArguments& a) {
          a.buffer<std::int32_t>(1)[at(i)] = a.buffer<std::int32_t>(0)[at(i)] ^ 77;
        });
    out->at("unknown").has_facts = false;
    // Two elements per work-item: variants of the kernels above.
    const auto twice = [&](FactsMaker facts, int argument, AccessKind kind) {
      return facts.access(kind, argument, 0, -1, false, 2).access(kind, argument, 1, -1, false, 2);
    };
    add("map_pairs",
        twice(twice(FactsMaker("map_pairs").buffer().buffer().value(), 0, AccessKind::read), 1, AccessKind::write), 2,
        1, "out[2 * i] = mixed(in[2 * i]); out[2 * i + 1] = mixed(in[2 * i + 1]);",
        [=](const WorkItem& i, FakeArguments& a) {
          for (std::size_t x = 2 * at(i); x < 2 * at(i) + 2; ++x)
            a.buffer<std::int32_t>(1)[x] = mixed(a.buffer<std::int32_t>(0)[x]);
        });
    add("bump_pairs",
        twice(twice(FactsMaker("bump_pairs").buffer().value(), 0, AccessKind::read), 0, AccessKind::write), 1, 1,
        "(global int* x, int n) { for (size_t i = 2 * get_global_id(0); i < 2 * get_global_id(0) + 2; ++i) "
        "x[i] = (int)((uint)x[i] + (uint)i + 1u); }",
        [=](const WorkItem& i, FakeArguments& a) {
          for (std::size_t e = 2 * at(i); e < 2 * at(i) + 2; ++e) {
            std::int32_t& x = a.buffer<std::int32_t>(0)[e];
            x = plus(x, static_cast<std::int64_t>(e) + 1);
          }
        });
    add("count_pairs",
        twice(FactsMaker("count_pairs").buffer().buffer().value(), 0, AccessKind::read).anywhere(AccessKind::atomic, 1),
        2, 1, "atomic_add(&out[in[2 * i] & 3], 1); atomic_add(&out[in[2 * i + 1] & 3], 1);",
        [=](const WorkItem& i, FakeArguments& a) {
          for (std::size_t e = 2 * at(i); e < 2 * at(i) + 2; ++e) {
            std::int32_t& x = a.buffer<std::int32_t>(1)[static_cast<std::size_t>(a.buffer<std::int32_t>(0)[e] & 3)];
            x = plus(x, 1);
          }
        });
    add("scatter_pairs",
        twice(FactsMaker("scatter_pairs").buffer().buffer().value(), 0, AccessKind::read)
            .anywhere(AccessKind::write, 1),
        2, 1, "out[2 * i * 7 % n] = mixed(in[2 * i]); out[(2 * i + 1) * 7 % n] = mixed(in[2 * i + 1]);",
        [=](const WorkItem& i, FakeArguments& a) {
          const auto n = static_cast<std::size_t>(a.scalar<std::int32_t>(2));
          for (std::size_t e = 2 * at(i); e < 2 * at(i) + 2; ++e)
            a.buffer<std::int32_t>(1)[e * 7 % n] = mixed(a.buffer<std::int32_t>(0)[e]);
        });
    for (const char* name : {"map_pairs", "bump_pairs", "count_pairs", "scatter_pairs"}) out->at(name).points = 2;
    return out;
  }();
  return all;
}

// The same kernel in box form and window form: hidden arguments behind its own.
inline std::function<void(const WorkItem&, FakeArguments&)> boxed(const TestKernel& kernel) {
  return [body = kernel.body, own = kernel.facts.arguments.size(), buffers = static_cast<std::size_t>(kernel.buffers)](
             const WorkItem& given, FakeArguments& a) {
    WorkItem item = given;
    if (a.size() > own) {
      const auto base = a.scalar<core::HiddenArgument>(own), groups = a.scalar<core::HiddenArgument>(own + 2),
                 offset = a.scalar<core::HiddenArgument>(own + 3);
      for (std::size_t d = 0; d < 3; ++d) {
        item.group_id[d] += base[d];
        item.num_groups[d] = groups[d];
        item.global_offset[d] = offset[d];
        item.global_id[d] = item.group_id[d] * item.local_size[d] + item.local_id[d] + offset[d];
      }
    }
    if (a.size() <= own + 4) return body(item, a);
    std::vector<FakeArguments::Entry> shifted;
    for (std::size_t i = 0; i < buffers; ++i) {
      const auto begin = a.scalar<std::uint64_t>(own + 4 + i);
      const std::span<std::byte> window = a.buffer<std::byte>(i);
      shifted.emplace_back(std::span(window.data() - begin, window.size() + begin));
    }
    for (std::size_t i = buffers; i < own; ++i) {
      const auto value = a.scalar<std::array<std::byte, 4>>(i);
      shifted.emplace_back(device::Scalar(value.begin(), value.end()));
    }
    FakeArguments all(std::move(shifted), a.options(), a.device());
    body(item, all);
  };
}

using Costs = std::map<std::string, std::function<double(const WorkItem&, const FakeArguments&)>>;

// Kernels of one point per work-item are good on the points before `at`, their variants of several points on the rest.
// Each work-item weighs as much as its group's place says.
inline Costs good_before_and_after(std::int64_t at) {
  Costs out;
  for (const auto& [name, kernel] : test_kernels()) {
    out[name] = [at, points = kernel.points](const WorkItem& item, const FakeArguments&) {
      const std::int64_t place = points * (item.global_offset[0] + item.group_id[0] * item.local_size[0]);
      return static_cast<double>(points) * ((place >= at) == (points > 1) ? 1.0 : 4.0);
    };
  }
  return out;
}

inline void add_test_kernels(device::FakeWorld& world, const Costs& costs = {}) {
  for (const auto& [name, kernel] : test_kernels()) {
    device::FakeKernel fake{.body = boxed(kernel)};
    if (const auto at = costs.find(name); at != costs.end()) fake.cost = at->second;
    if (!kernel.has_facts)
      fake.limits = device::KernelLimits{.group = 256, .arguments = static_cast<int>(kernel.facts.arguments.size())};
    world.add_kernel(name, fake);
  }
}

inline core::Result<kernel::Analysis> analyse_test_kernel(const kernel::Source& source,
                                                          const std::vector<std::string>& forms) {
  const auto at = test_kernels().find(source.text);  // its text is its name
  if (at == test_kernels().end() || !at->second.has_facts)
    return core::Failure{core::FailureKind::unsupported, "nobody knows this kernel", ""};
  kernel::Analysis out;
  out.facts.kernels = {at->second.facts};
  for (const std::string& form : forms) out.forms[form] = {source.text, ""};
  return out;
}

// What a launch does, on plain arrays, in the order of work-items.
inline void run_reference(const TestKernel& kernel, const core::Grid& grid,
                          std::vector<FakeArguments::Entry> arguments) {
  static const std::string no_options;
  static const device::Info no_device;
  FakeArguments all(std::move(arguments), no_options, no_device);
  WorkItem item;
  item.local_size = grid.local, item.num_groups = grid.groups, item.global_offset = grid.offset;
  for (std::size_t d = 0; d < 3; ++d) item.global_size[d] = grid.groups[d] * grid.local[d];
  for (item.group_id[2] = 0; item.group_id[2] < grid.groups[2]; ++item.group_id[2])
    for (item.group_id[1] = 0; item.group_id[1] < grid.groups[1]; ++item.group_id[1])
      for (item.group_id[0] = 0; item.group_id[0] < grid.groups[0]; ++item.group_id[0])
        for (item.local_id[2] = 0; item.local_id[2] < grid.local[2]; ++item.local_id[2])
          for (item.local_id[1] = 0; item.local_id[1] < grid.local[1]; ++item.local_id[1])
            for (item.local_id[0] = 0; item.local_id[0] < grid.local[0]; ++item.local_id[0]) {
              for (std::size_t d = 0; d < 3; ++d)
                item.global_id[d] = item.group_id[d] * grid.local[d] + item.local_id[d] + grid.offset[d];
              kernel.body(item, all);
            }
}

}  // namespace heddle::engine
