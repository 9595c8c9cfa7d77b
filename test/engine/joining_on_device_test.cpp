// Kernels that write nobody knows exactly where, shared by two halves of a CPU of which one is treated as if it had
// memory of its own: what they compute is what a plain loop does.
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "engine/engine.hpp"
#include "kernel/compiler.hpp"
#include "test/device/any_device.hpp"

namespace heddle::engine {
namespace {

using Array = std::vector<std::uint32_t>;

struct Joined {
  const char* name;
  const char* body;  // of a kernel (in, at, out, more, n): a permutation of all elements is in `at`
  std::function<void(std::size_t i, const Array& in, const Array& at, Array& out, Array& more)> plainly;
  bool joins = true;
  bool merges = false;  // by a merge kernel, once that is built
};

const std::vector<Joined> kernels = {
    {"scatter", "out[at[i]] = in[i];",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) { out[at[i]] = in[i]; }, true, true},
    {"some", "if (in[i] & 1) out[i] = in[i];",
     [](std::size_t i, const Array& in, const Array&, Array& out, Array&) { out[i] = in[i] & 1 ? in[i] : out[i]; },
     true, true},
    {"early", "if (out[at[i]] & 4) return; out[at[i]] = out[at[i]] * 3 + in[i];",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) {
       if (!(out[at[i]] & 4)) out[at[i]] = out[at[i]] * 3 + in[i];
     }},
    {"count", "atomic_add(&out[in[i] % 61], at[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) { out[in[i] % 61] += at[i]; }},
    {"down", "atomic_sub(&out[in[i] % 7], 3u); atomic_inc(&out[100 + in[i] % 3]); atomic_dec(&out[i % 50]);",
     [](std::size_t i, const Array& in, const Array&, Array& out, Array&) {
       out[in[i] % 7] -= 3, ++out[100 + in[i] % 3], --out[i % 50];
     }},
    {"two", "out[i] = ~in[i]; if (in[i] & 2) more[at[i]] = in[i];",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       out[i] = ~in[i];
       if (in[i] & 2) more[at[i]] = in[i];
     },
     true, true},
    {"leaves",
     "if (at[i] % 5 == 0 || at[i] % 2) return; for (uint k = 0; k < in[i] % 3; ++k) { out[at[i]] = in[i]; "
     "if (in[i] & 64) break; more[at[i]] = k; }",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       if (at[i] % 5 == 0 || at[i] % 2) return;
       for (std::uint32_t k = 0; k < in[i] % 3; ++k) {
         out[at[i]] = in[i];
         if (in[i] & 64) break;
         more[at[i]] = k;
       }
     },
     true, true},
    {"both", "if (in[i] & 8) out[at[i]] += 5; atomic_add(&more[in[i] & 15], 1u);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       if (in[i] & 8) out[at[i]] += 5;
       ++more[in[i] & 15];
     }},
    {"bytes", "((global uchar*)out)[4 * at[i] + (in[i] & 3)] = (uchar)(in[i] >> 8);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) {
       reinterpret_cast<unsigned char*>(out.data())[4 * at[i] + (in[i] & 3)] = static_cast<unsigned char>(in[i] >> 8);
     },
     true, true},
    {"pairs", "if (at[i] % 3 == 0 && at[i] + 2 <= n) vstore2((uint2)(in[i], ~in[i]), 0, out + at[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) {
       if (at[i] % 3 == 0 && at[i] + 2 <= in.size()) out[at[i]] = in[i], out[at[i] + 1] = ~in[i];
     },
     true, true},
    {"bits", "atomic_or(&out[in[i] % 61], at[i]); atomic_xor(&more[in[i] % 61], at[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       out[in[i] % 61] |= at[i], more[in[i] % 61] ^= at[i];
     }},
    {"extremes", "atomic_max(&out[at[i] % 61], in[i]); atomic_min(&more[at[i] % 61], in[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       out[at[i] % 61] = std::max(out[at[i] % 61], in[i]), more[at[i] % 61] = std::min(more[at[i] % 61], in[i]);
     }},
    {"signed_extremes",
     "atomic_max((global int*)&out[at[i] % 61], (int)in[i]); atomic_min((volatile global int*)more + at[i] % 61, "
     "(int)in[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       const auto of = [](std::uint32_t x) { return static_cast<std::int32_t>(x); };
       if (of(in[i]) > of(out[at[i] % 61])) out[at[i] % 61] = in[i];
       if (of(in[i]) < of(more[at[i] % 61])) more[at[i] % 61] = in[i];
     }},
    // What decides was just stored by the kernel itself.
    {"forwarded", "more[i] = at[i]; if (in[more[i]] & 1) out[more[i]] = 5;",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array& more) {
       more[i] = at[i];
       if (in[at[i]] & 1) out[at[i]] = 5;
     }},
    // Not joined, and right all the same.
    {"mixed", "atomic_or(&out[in[i] % 61], at[i]); atomic_add(&out[100 + in[i] % 61], at[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) {
       out[in[i] % 61] |= at[i], out[100 + in[i] % 61] += at[i];
     },
     false},
    {"signs", "atomic_max(&out[in[i] % 61], at[i]); atomic_max((global int*)&out[100 + in[i] % 61], (int)in[i]);",
     [](std::size_t i, const Array& in, const Array& at, Array& out, Array&) {
       out[in[i] % 61] = std::max(out[in[i] % 61], at[i]);
       std::uint32_t& to = out[100 + in[i] % 61];
       if (static_cast<std::int32_t>(in[i]) > static_cast<std::int32_t>(to)) to = in[i];
     },
     false},
};

std::string source_of(const Joined& kernel) {
  return fmt::format(
      "kernel void {}(global const uint* in, global const uint* at, global uint* out, global uint* more, uint n) "
      "{{ const size_t i = get_global_id(0); {} }}",
      kernel.name, kernel.body);
}

class JoiningOnDevice : public testing::Test {
 protected:
  static device::Machine& machine() {
    static auto& one = *new device::Machine([] {
      core::Settings settings = device::test_settings("cpu/2");
      settings.apart = "cpu.0";
      return device::open_machine(settings, device::process_environment);
    }());
    return one;
  }
  void SetUp() override {
    if (!std::ifstream("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "no PoCL";
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core only";
    std::vector<device::Device*> devices;
    for (const auto& device : machine().devices) devices.push_back(device.get());
    engine_.emplace(devices, Options{.analyse = [this](const auto& text, const auto& forms) {
                      return compiler_.analyse(text, forms);
                    }});
  }

  Array random_array(std::size_t n) {
    Array out(n);
    for (std::uint32_t& value : out) value = static_cast<std::uint32_t>(random_());
    return out;
  }
  Array permutation(std::size_t n) {
    Array out(n);
    std::iota(out.begin(), out.end(), 0u);
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }
  std::shared_ptr<Memory> memory_of(const Array& values) {
    auto out = engine_->make_memory(4 * values.size());
    std::memcpy(out->host().bytes.data(), values.data(), 4 * values.size());
    return out;
  }
  std::shared_ptr<Kernel> make(const std::string& name, const std::string& text) {
    auto out = device::must(engine_->make_kernel({name, text, ""}));
    while (!engine_->is_built(*out)) std::this_thread::yield();
    return out;
  }
  void go(const std::shared_ptr<Kernel>& kernel, std::int64_t n, const std::vector<std::shared_ptr<Memory>>& memories,
          const Array& values, const std::vector<double>& parts, int tasks = 0) {
    Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {64, 1, 1}};
    for (const auto& memory : memories) request.arguments.emplace_back(View{memory, 0, memory->size()});
    for (const std::uint32_t value : values)
      request.arguments.push_back(std::get<device::Scalar>(device::scalar(value)));
    request.wishes.parts = parts, request.wishes.tasks = tasks;
    const auto status = engine_->wait(engine_->submit(request));
    ASSERT_TRUE(status) << kernel->source().name << ": " << status.failure().what;
  }
  struct Ran {
    Report report;
    bool joined = false, merged = false;
  };
  Ran run(const Request& request, const std::string& what) {
    const auto launch = engine_->submit(request);
    const auto status = engine_->wait(launch);
    EXPECT_TRUE(status) << what << ": " << status.failure().what;
    Ran out{engine_->report(*launch)};
    for (const std::string& note : out.report.notes) {
      out.joined |= note.find("joined") != note.npos;
      out.merged |= note.find("computing again") != note.npos;
    }
    return out;
  }
  // All forms that were asked for.
  void wait_for_builds(const Pool& pool) {
    for (const Variant& variant : pool.variants) {
      while (!engine_->is_built(*variant.kernel)) std::this_thread::yield();
    }
  }
  void expect(const std::shared_ptr<Memory>& memory, const Array& values, const std::string& what) {
    ASSERT_TRUE(engine_->to_host(memory, false));
    const auto* found = reinterpret_cast<const std::uint32_t*>(memory->host().bytes.data());
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(found[i], values[i]) << what << ", element " << i;
  }

  kernel::Compiler compiler_{{.program = kernel::installed_compiler()}};
  std::optional<Engine> engine_;
  std::mt19937_64 random_{std::random_device{}()};
};

TEST_F(JoiningOnDevice, GivesWhatAPlainLoopDoes) {
  for (const Joined& one : kernels) {
    const auto kernel = make(one.name, source_of(one));
    int merged = 0;
    for (int round = 0; round < 4; ++round) {
      const std::size_t n = 256 * (1 + random_() % 40);
      Array in = random_array(n), at = permutation(n), out = random_array(n), more = random_array(n);
      const auto ins = memory_of(in), ats = memory_of(at), outs = memory_of(out), mores = memory_of(more);
      Request request{.kernel = kernel, .items = {static_cast<std::int64_t>(n), 1, 1}, .group = {64, 1, 1}};
      for (const auto& memory : {ins, ats, outs, mores}) request.arguments.emplace_back(View{memory, 0, 4 * n});
      request.arguments.push_back(std::get<device::Scalar>(device::scalar(static_cast<std::uint32_t>(n))));
      for (int launches = 0; launches < 4; ++launches) {
        request.wishes.parts = {static_cast<double>(random_() % 4 + 1), static_cast<double>(random_() % 4 + 1)};
        const Ran ran = run(request, one.name);
        merged += ran.merged;
        EXPECT_EQ(ran.joined, one.joins) << one.name;
        std::set<std::string> devices;
        for (const SliceReport& slice : ran.report.slices) devices.insert(slice.device);
        EXPECT_TRUE(devices.size() > 1 || !one.joins) << one.name;
        for (std::size_t i = 0; i < n; ++i) one.plainly(i, in, at, out, more);
        if (random_() % 2) expect(outs, out, one.name);  // else it stays where it is
      }
      expect(outs, out, one.name);
      expect(mores, more, one.name);
      expect(ins, in, one.name);
      while (!engine_->is_built(*kernel)) std::this_thread::yield();  // the merge form, too
    }
    EXPECT_EQ(merged > 0, one.merges) << one.name;
  }
}

// Whole launches may be exact where parts are not: columns of 5000 rows are that many pieces.
TEST_F(JoiningOnDevice, KeepsWhatIsExactOnlyAsAWhole) {
  const auto kernel =
      make("columns",
           "kernel void columns(global uint* out, global uint* sums) { const uint i = get_global_id(0); "
           "for (uint r = 0; r < 5000; ++r) out[r * 256 + i] = r * 7 + i; atomic_add(&sums[i & 7], 1u); }");
  Array out = random_array(5000 * 256), sums = random_array(64);
  const auto outs = memory_of(out), sumss = memory_of(sums);
  go(kernel, 256, {outs, sumss}, {}, {1, 1});
  for (std::uint32_t r = 0; r < 5000; ++r) {
    for (std::uint32_t i = 0; i < 256; ++i) out[r * 256 + i] = r * 7 + i;
  }
  for (std::uint32_t i = 0; i < 256; ++i) ++sums[i & 7];
  expect(outs, out, "out");
  expect(sumss, sums, "sums");
}

// A part of so many pieces is taken for all of its argument, of which nobody has a copy behind what the launch touches.
TEST_F(JoiningOnDevice, TouchesNothingBehindTheLaunch) {
  const auto fill = make("fill", "kernel void fill(global uint* x) { x[get_global_id(0)] = get_global_id(0); }");
  const auto add = make("add",
                        "kernel void add(global uint* x, global const uint* w) { const uint i = get_global_id(0); "
                        "for (uint r = 0; r < 5000; ++r) atomic_add(&x[r * 256 + i], w[i]); }");
  const auto read = make("read",
                         "kernel void read(global uint* x) { const uint i = get_global_id(0); uint s = 0; "
                         "for (uint r = 0; r < 5000; ++r) s += x[r * 256 + i]; if (s & 1) x[5000 * 256 + i] = s; }");
  const auto copy = make("copy",
                         "kernel void copy(global const uint* x, global uint* y) { y[get_global_id(0)] = "
                         "x[get_global_id(0)]; }");
  constexpr std::uint32_t n = 5000 * 256 + 4096;
  Array x(n), w = random_array(256);
  const auto xs = memory_of(random_array(n)), ws = memory_of(w), ys = memory_of(random_array(n));
  go(fill, n, {xs}, {}, {1, 0});
  std::iota(x.begin(), x.end(), 0u);
  go(add, 256, {xs, ws}, {}, {1, 1});
  for (std::uint32_t r = 0; r < 5000; ++r) {
    for (std::uint32_t i = 0; i < 256; ++i) x[r * 256 + i] += w[i];
  }
  expect(xs, x, "add");
  go(read, 256, {xs}, {}, {1, 1});
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t s = 0;
    for (std::uint32_t r = 0; r < 5000; ++r) s += x[r * 256 + i];
    if (s & 1) x[5000 * 256 + i] = s;
  }
  go(copy, n, {xs, ys}, {}, {1, 0});  // where the device has it
  expect(ys, x, "copy");
  expect(xs, x, "read");
}

// What a device was given from before the launch is not what is there behind it.
TEST_F(JoiningOnDevice, LeavesNothingStaleBehind) {
  const auto kernel =
      make("swing",
           "kernel void swing(global uint* x, global const uint* at, uint from, uint to) { const uint i = "
           "get_global_id(0); if (at[i] != 7) x[to + i] = x[from + at[i]] + 1; }");
  for (const auto& [n, parts, tasks] : {std::tuple(4096u, std::vector<double>{1, 1}, 2),
                                        {4096u, std::vector<double>{1, 1}, 0},
                                        {1u << 22, std::vector<double>{0.99, 0.01}, 0}}) {
    Array x = random_array(2 * std::size_t{n}), at = permutation(n);
    const auto xs = memory_of(x), ats = memory_of(at);
    const auto plainly = [&, n = n](std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t i = 0; i < n; ++i) x[to + i] = at[i] != 7 ? x[from + at[i]] + 1 : x[to + i];
    };
    go(kernel, n, {xs, ats}, {0, n}, parts, tasks);
    plainly(0, n);
    go(kernel, n, {xs, ats}, {n, 0}, {1, 0});  // where the device has it
    plainly(n, 0);
    expect(xs, x, fmt::format("{} points", n));
  }
}

// What is stored need not lie at multiples of its size, nor have one that is known.
TEST_F(JoiningOnDevice, DoesNotCopyNeighbours) {
  const auto pairs = make("pairs_of",
                          "struct P { float x, y; }; kernel void pairs_of(global uint* to, global const struct P* in, "
                          "global const uint* at, global const uint* base) { const uint i = get_global_id(0); "
                          "global struct P* p = (global struct P*)(to + base[0]); p[at[i]] = in[i]; }");
  constexpr std::uint32_t n = 1 << 16;
  Array in = random_array(2 * n), at = permutation(n), to = random_array(2 * n + 2);
  const auto tos = memory_of(to);
  go(pairs, n, {tos, memory_of(in), memory_of(at), memory_of(Array{1})}, {}, {1, 1});
  for (std::uint32_t i = 0; i < n; ++i) to[1 + 2 * at[i]] = in[2 * i], to[2 + 2 * at[i]] = in[2 * i + 1];
  expect(tos, to, "pairs");

  const auto rows =
      make("rows",
           "kernel __attribute__((reqd_work_group_size(64, 1, 1))) void rows(global uint* to, global const "
           "uint* in, uint k) { local uint t[64]; t[get_local_id(0)] = in[get_global_id(0)]; "
           "barrier(CLK_LOCAL_MEM_FENCE); event_t e = async_work_group_copy(to + get_group_id(0) * k, t, "
           "(size_t)k, 0); wait_group_events(1, &e); }");
  for (int device = 1; device < 12; device += 2) {
    constexpr std::uint32_t groups = 40, k = 63;
    Array from = random_array(groups * 64), row = random_array(groups * 64);
    const auto rowss = memory_of(row);
    go(rows, groups * 64, {rowss, memory_of(from)}, {k}, {1.0 * device, 40.0 - device});
    for (std::uint32_t g = 0; g < groups; ++g) std::copy_n(from.begin() + g * 64, k, row.begin() + g * k);
    expect(rowss, row, fmt::format("rows, {} of the device's", device));
  }
}

// A sum of eight bytes is not two of four.
TEST_F(JoiningOnDevice, DoesNotCutSums) {
  const auto kernel = make("both_wide",
                           "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                           "kernel void both_wide(global uint* x) { atom_add((global ulong*)x, (ulong)0x7fffffff); "
                           "atomic_add(x + 4, 1u); }");
  Array x(64);
  const auto xs = memory_of(x);
  go(kernel, 256, {xs}, {}, {1, 1});
  const std::uint64_t sum = 256 * std::uint64_t{0x7fffffff};
  x[0] = static_cast<std::uint32_t>(sum), x[1] = static_cast<std::uint32_t>(sum >> 32), x[4] = 256;
  expect(xs, x, "sums");
}

// Each device takes one of several variants, which may write by other facts, and in other parts.
TEST_F(JoiningOnDevice, JoinsVariants) {
  struct Pairs {
    const char* name;
    const char* body;  // as above, for elements `from` to `to`
    std::size_t kernel;
    bool merges;
  };
  const auto kernel_named = [](const std::string& name) {
    return static_cast<std::size_t>(
        std::find_if(kernels.begin(), kernels.end(), [&](const Joined& one) { return one.name == name; }) -
        kernels.begin());
  };
  for (const Pairs& pairs :
       {Pairs{"scatter", "out[at[i]] = in[i];", kernel_named("scatter"), true},
        Pairs{"some", "out[i] = in[i] & 1 ? in[i] : out[i];", kernel_named("some"),
              false},  // exactly what it may write
        Pairs{"count", "atomic_add(&out[in[i] % 61], at[i] - 1); atomic_inc(&out[in[i] % 61]);", kernel_named("count"),
              false},
        Pairs{"two", "if (in[i] & 2) more[at[i]] = in[i]; out[i] = ~in[i];", kernel_named("two"), true}}) {
    const Joined& one = kernels[pairs.kernel];
    const std::string wide = fmt::format(
        "kernel void wide(global const uint* in, global const uint* at, global uint* out, global uint* more, uint n) "
        "{{ for (size_t i = 4 * get_global_id(0); i < 4 * get_global_id(0) + 4; ++i) {{ {} }} }}",
        pairs.body);
    const auto pool =
        device::must(engine_->make_pool(one.name, {{"one", {one.name, source_of(one), ""}, {64, 1, 1}, {{64, 1, 1}}},
                                                   {"wide", {"wide", wide, ""}, {32, 1, 1}, {{128, 1, 1}}}}));
    wait_for_builds(*pool);
    int merged = 0;
    std::set<std::string> took;
    for (int round = 0; round < 12; ++round) {
      const std::size_t n = round % 3 == 2 ? std::size_t{1} << 16 : 256 * (1 + random_() % 40);
      Array in = random_array(n), at = permutation(n), out = random_array(n), more = random_array(n);
      const auto outs = memory_of(out), mores = memory_of(more);
      Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {static_cast<std::int64_t>(n), 1, 1}};
      for (const auto& memory : {memory_of(in), memory_of(at), outs, mores})
        request.arguments.emplace_back(View{memory, 0, 4 * n});
      request.arguments.push_back(std::get<device::Scalar>(device::scalar(static_cast<std::uint32_t>(n))));
      for (int launches = 0; launches < 4; ++launches) {
        // Alone, a device finds out which one is best there.
        const bool alone = random_() % 3 == 0;
        request.wishes.parts = {static_cast<double>(random_() % 4 + 1),
                                alone ? 0 : 1.0 + static_cast<double>(random_() % 4)};
        static constexpr Profiling ways[] = {Profiling::once, Profiling::once, Profiling::always, Profiling::never};
        request.wishes.profiling = ways[random_() % 4];
        request.wishes.initial = random_() % 2 ? "wide" : "";
        const Ran ran = run(request, one.name);
        merged += ran.merged;
        EXPECT_EQ(ran.joined, !alone) << one.name;
        for (const SliceReport& slice : ran.report.slices) took.insert(slice.device + " " + slice.variant);
        for (std::size_t i = 0; i < n; ++i) one.plainly(i, in, at, out, more);
        if (random_() % 2) expect(outs, out, one.name);
      }
      expect(outs, out, one.name);
      expect(mores, more, one.name);
      wait_for_builds(*pool);
    }
    EXPECT_EQ(merged > 0, pairs.merges) << one.name;
    EXPECT_EQ(took.size(), 4u) << one.name;  // both variants on both devices
  }
}

// What a variant leaves at the edge has a piece for each row: too many to be exact, though all of a part is.
TEST_F(JoiningOnDevice, JoinsWhatVariantsLeave) {
  constexpr std::uint32_t width = 80, height = 10000, n = width * height;
  const std::string arguments = "(global const uint* in, global const uint* at, global uint* out, global uint* more)";
  const std::string body = "{ const uint i = get_global_id(1) * 80 + x; out[i] = ~in[i]; more[at[i]] = in[i]; }";
  const auto pool = device::must(engine_->make_pool(
      "edges", {{"one",
                 {"one", "kernel void one" + arguments + "{ const uint x = get_global_id(0); " + body + "}", ""},
                 {16, 1, 1},
                 {{16, 1, 1}}},
                {"wide",
                 {"wide",
                  "kernel void wide" + arguments +
                      "{ for (uint x = get_group_id(0) * 64 + get_local_id(0), k = 0; k < 4; ++k, "
                      "x += 16) " +
                      body + "}",
                  ""},
                 {16, 1, 1},
                 {{64, 1, 1}}}}));
  wait_for_builds(*pool);
  Array in = random_array(n), at = permutation(n), out(n), more(n);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = ~in[i], more[at[i]] = in[i];
  const auto ins = memory_of(in), ats = memory_of(at);
  for (int round = 0; round < 4; ++round) {  // compared, then merged
    const auto outs = memory_of(random_array(n)), mores = memory_of(random_array(n));
    Request request{.kernel = pool->variants[0].kernel, .pool = pool, .items = {width, height, 1}};
    request.dimensions = 2;
    for (const auto& memory : {ins, ats, outs, mores}) request.arguments.emplace_back(View{memory, 0, 4 * n});
    request.wishes.parts = {1, 1}, request.wishes.initial = "wide", request.wishes.profiling = Profiling::never;
    const Ran ran = run(request, "edges");
    std::set<std::string> took;
    for (const SliceReport& slice : ran.report.slices) took.insert(slice.device + " " + slice.variant);
    EXPECT_EQ(took.size(), 4u);
    expect(outs, out, "out");
    expect(mores, more, "more");
    wait_for_builds(*pool);
  }
}

// Without being told, whoever gains by it takes part; results are right meanwhile.
TEST_F(JoiningOnDevice, IsTriedWhereItMayGain) {
  const auto kernel = device::must(engine_->make_kernel(
      {"heavy",
       "kernel void heavy(global const uint* in, global const uint* at, global uint* out) { const size_t i = "
       "get_global_id(0); uint x = in[i]; for (int k = 0; k < 3000; ++k) x = x * 1664525u + 1013904223u; "
       "out[at[i]] = x; }",
       ""}));
  constexpr std::size_t n = 1 << 14;
  Array in = random_array(n), at = permutation(n), out(n);
  const auto ins = memory_of(in), ats = memory_of(at), outs = memory_of(random_array(n));
  for (std::size_t i = 0; i < n; ++i) {
    out[at[i]] = in[i];
    for (int k = 0; k < 3000; ++k) out[at[i]] = out[at[i]] * 1664525u + 1013904223u;
  }
  Request request{.kernel = kernel, .items = {n, 1, 1}, .group = {64, 1, 1}};
  for (const auto& memory : {ins, ats, outs}) request.arguments.emplace_back(View{memory, 0, 4 * n});
  int shared = 0;
  for (int launches = 0; launches < 30; ++launches) {
    const auto launch = engine_->submit(request);
    ASSERT_TRUE(engine_->wait(launch));
    ASSERT_TRUE(engine_->to_host(outs, true));
    expect(outs, out, "heavy");
    shared += engine_->report(*launch).slices.size() > 1;
    for (std::byte& byte : outs->host().bytes) byte = std::byte{0xA5};
  }
  EXPECT_GT(shared, 0);
}

}  // namespace
}  // namespace heddle::engine
