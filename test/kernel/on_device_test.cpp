// The promises, on every case, every variant of every workload and every device: the box form and, in no more memory
// than its box needs, the window form compute bit by bit what the whole launch does, and no derived range is wrong.
#include "test/kernel/on_device.hpp"

#include <gtest/gtest.h>

#include "core/answers.hpp"
#include "kernel/macro_probe.hpp"
#include "test/kernel/every_case.hpp"
#include "test/kernel/summary.hpp"

namespace heddle::kernel {
namespace {

using device::Device;

struct Opened {
  Analysis analysis;
  const core::KernelFacts* facts = nullptr;  // of the kernel to launch
  std::optional<CaseOnDevice> there;
};

std::unique_ptr<Opened> open(Device& device, const Case& c);

// Nothing where it cannot be opened, which has then been told: the other cases are still looked at.
std::unique_ptr<Opened> opened_or_told(Device& device, const Case& c) {
  try {
    return open(device, c);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    return nullptr;
  }
}

std::unique_ptr<Opened> open(Device& device, const Case& c) {
  auto out = std::make_unique<Opened>();
  out->analysis = device::must(compiler().analyse(
      {c.text, c.options + " -I " HEDDLE_TEST_DATA "/cases", target(device)}, {"box", "window", "merge"}));
  for (const core::KernelFacts& k : out->analysis.facts.kernels) {
    if (k.name == c.entry) out->facts = &k;
  }
  EXPECT_TRUE(out->facts || c.entry.empty()) << "no facts of " << c.entry;
  out->there = CaseOnDevice::open(device, c, out->analysis);
  return out;
}

class OnEveryDevice : public testing::TestWithParam<Device*> {};

// `most`: groups in a box.
std::vector<core::Box> random_cuts(const core::Index& groups, std::mt19937_64& random, std::int64_t most = 40) {
  core::BoxSet left(core::Box{{0, 0, 0}, groups});
  std::vector<core::Box> out;
  while (!left.empty()) {
    core::Footprint footprint;
    const auto wanted = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    const auto box = left.take(footprint, {{0, 0, 0}, groups}, wanted, static_cast<int>(random() % 3));
    out.push_back(*box);
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

// So small that their windows are small, too, and yet no more than some dozens.
std::vector<core::Box> window_cuts(const core::Index& groups, std::mt19937_64& random) {
  return random_cuts(groups, random, std::max<std::int64_t>(1, groups[0] * groups[1] * groups[2] / 16));
}

TEST_P(OnEveryDevice, BoxesComputeWhatTheWholeDoes) {
  std::mt19937_64 random(3);
  int moved = 0, kernels = 0;  // windows that do not begin where the argument does, and those that have some
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    auto opened = opened_or_told(*GetParam(), c);
    if (!opened || !opened->there || !opened->facts || !opened->facts->obstacles.empty()) continue;
    const int before = moved;
    for (int round = 0; round < 2; ++round) {
      const Draw d = draw(c, random, round == 0);
      const Memory whole = opened->there->run_whole(d.grid, d.memory);
      EXPECT_EQ(opened->there->run_boxes(d.grid, random_cuts(d.grid.groups, random), d.memory), whole);
      EXPECT_EQ(opened->there->run_counted(d.grid, true, d.memory), d.memory);
      EXPECT_EQ(opened->there->run_counted(d.grid, false, d.memory), whole);
      if (!opened->analysis.forms.at("window").refused.empty()) continue;
      const auto boxes = window_cuts(d.grid.groups, random);
      EXPECT_EQ(opened->there->run_windows(*opened->facts, d.grid, boxes, d.memory, moved), whole) << "in windows";
    }
    kernels += moved > before;
  }
  if (std::getenv("HEDDLE_TEST_CASES")) return;
  EXPECT_GT(moved, 150);
  EXPECT_GT(kernels, 20);
}

std::vector<bool> inside(const core::ByteRanges& ranges, std::size_t size) {
  std::vector<bool> out(size);
  for (const core::Span& span : core::spans(ranges, size)) {
    for (std::int64_t b = span.begin; b < span.end; ++b) out[static_cast<std::size_t>(b)] = true;
  }
  return out;
}

// Some boxes run here, the others in another memory that was never given what they need not read.
bool check_merge(Opened& opened, const Case& c, std::mt19937_64& random, bool fixed) {
  const Draw d = draw(c, random, fixed);
  const auto boxes = random_cuts(d.grid.groups, random);
  std::vector<core::Box> mine, theirs;
  for (const core::Box& box : boxes) (random() % 2 ? mine : theirs).push_back(box);
  const core::BoundKernel bound(*opened.facts, d.grid, scalars_of(c, d.memory));
  const auto touched = bound.touched({{0, 0, 0}, d.grid.groups});
  Memory before = d.memory;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (c.arguments[i].kind != CaseArgument::Kind::buffer || !touched[i].read.none() || touched[i].written.none())
      continue;
    for (std::byte& b : before[i]) b = static_cast<std::byte>(random());
  }
  const Memory whole = opened.there->run_whole(d.grid, d.memory);
  const Memory there = opened.there->run_boxes(d.grid, theirs, before);
  const Memory here = opened.there->run_boxes(d.grid, mine, d.memory);
  const Memory merged = opened.there->run_merge(*opened.facts, d.grid, theirs, here, there);
  // The place of the fourth lane of a vector of three may hold anything.
  const auto reachable = core::BoundKernel(with_padding(*opened.facts), d.grid, scalars_of(c, d.memory))
                             .touched({{0, 0, 0}, d.grid.groups});
  bool right = true;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const auto data = inside(touched[i].written, merged[i].size()),
               reached = inside(reachable[i].written, merged[i].size());
    std::size_t differs = 0;
    for (std::size_t b = 0; b < merged[i].size(); ++b)
      differs += merged[i][b] != whole[i][b] && (data[b] || !reached[b]);
    EXPECT_EQ(differs, 0u) << "bytes of argument " << i;
    right &= differs == 0;
  }
  return right;
}

TEST_P(OnEveryDevice, MergeFormsTakeWhatAnotherMemoryHolds) {
  std::mt19937_64 random(std::random_device{}());
  int kernels = 0;
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    auto opened = opened_or_told(*GetParam(), c);
    if (!opened || !opened->there || !opened->facts || !opened->facts->obstacles.empty()) continue;
    if (!opened->analysis.forms.at("merge").refused.empty() || !core::addresses_stay(*opened->facts)) continue;
    ++kernels;
    for (int round = 0; round < 3 && check_merge(*opened, c, random, round == 0); ++round) {
    }
  }
  if (std::getenv("HEDDLE_TEST_CASES")) return;
  EXPECT_GT(kernels, 40);
}

// Bytes that a run changed, told by two runs on opposite fillings of what is only written.
std::vector<std::vector<bool>> written_bytes(const Memory& before, const Memory& after, const Memory& before2,
                                             const Memory& after2) {
  std::vector<std::vector<bool>> out;
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::vector<bool> changed(before[i].size());
    for (std::size_t b = 0; b < changed.size(); ++b)
      changed[b] = before[i][b] != after[i][b] || before2[i][b] != after2[i][b];
    out.push_back(std::move(changed));
  }
  return out;
}

bool check_ranges(Opened& opened, const Case& c, std::mt19937_64& random, bool fixed) {
  const Draw d = draw(c, random, fixed);
  core::Box box = random_box(d.grid.groups, random);
  for (std::size_t k = 0; k < 3 && c.one_group; ++k) box.end[k] = box.begin[k] + 1;
  const Memory scalars = scalars_of(c, d.memory);
  const core::BoundKernel bound(*opened.facts, d.grid, scalars);
  const auto touched = bound.touched(box);
  const core::KernelFacts padded = with_padding(*opened.facts);
  const auto reachable = core::BoundKernel(padded, d.grid, scalars).touched(box);
  SCOPED_TRACE("box " + core::to_string(box) + " of " + core::to_string(core::Box{{0, 0, 0}, d.grid.groups}));

  Memory opposite = d.memory, poisoned = d.memory;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.arguments[i].kind != CaseArgument::Kind::buffer) continue;
    const bool in = !touched[i].read.none() || !touched[i].updated.none();
    if (!in) {
      for (std::byte& b : opposite[i]) b = ~b;
    }
    const auto read = inside(touched[i].read, d.memory[i].size()),
               updated = inside(touched[i].updated, d.memory[i].size());
    for (std::size_t b = 0; b < read.size(); ++b) {
      if (!read[b] && !updated[b]) poisoned[i][b] = static_cast<std::byte>(random());
    }
  }
  const Memory after = opened.there->run_boxes(d.grid, {box}, d.memory);
  const Memory after_opposite = opened.there->run_boxes(d.grid, {box}, opposite);
  const Memory after_poisoned = opened.there->run_boxes(d.grid, {box}, poisoned);
  const auto written = written_bytes(d.memory, after, opposite, after_opposite);
  bool right = true;
  const bool repeatable = opened.facts->obstacles.empty();  // tickets go to whoever comes first
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    if (c.arguments[i].kind != CaseArgument::Kind::buffer) continue;
    const std::size_t size = d.memory[i].size();
    const auto all = inside(touched[i].written, size), may = inside(reachable[i].written, size),
               updated = inside(touched[i].updated, size);
    const bool only_written = touched[i].read.none() && touched[i].updated.none();
    const bool exact = touched[i].written.certainty == core::Certainty::exact;
    std::size_t missed = 0, over = 0, differs = 0;
    for (std::size_t b = 0; b < size; ++b) {
      missed += written[i][b] && !may[b] && !updated[b];
      over += exact && only_written && all[b] && !written[i][b];
      differs += repeatable && written[i][b] && after[i][b] != after_poisoned[i][b];
    }
    EXPECT_EQ(missed, 0u) << "bytes of argument " << i << " written outside of its range";
    EXPECT_EQ(over, 0u) << "bytes of argument " << i << " not written, though the range is exact";
    EXPECT_EQ(differs, 0u) << "bytes of argument " << i << " changed with what lies outside of the read ranges";
    right &= missed + over + differs == 0;
  }
  return right;
}

TEST_P(OnEveryDevice, NoRangeIsWrong) {
  std::mt19937_64 random(std::random_device{}());
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    auto opened = opened_or_told(*GetParam(), c);
    if (!opened || !opened->there || !opened->facts) continue;
    bool right = true;  // of this case; the others are still looked at
    for (int round = 0; round < 8 && right; ++round) right = check_ranges(*opened, c, random, round == 0);
  }
}

// Kernels that nobody wrote: sums, divisions, masks and casts of ids, in loops and under guards, that stay in bounds by
// a last test.
class Generator {
 public:
  explicit Generator(std::mt19937_64& random) : random_(random) {}

  Case next() {
    Case c;
    c.entry = "k";
    c.locals = {{4, 2, 1}};
    c.groups = {5, 4, 1};
    c.offset = {3, 0, 0};
    c.dimensions = 2;
    c.text =
        "kernel void k(global int* out, global const int* in, int n, uint m) {\n"
        "  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), gx = get_group_id(0);\n"
        "  uint u = get_global_id(0) - 2;\n  int v = 0;\n";
    c.one_group = pick(2);
    const bool loop = pick(2), counts_down = pick(4) == 0;
    names_ = {"x", "y", "lx", "gx", "n", "m", "u", "(int)get_num_groups(1)", "(int)get_local_size(0)"};
    if (pick(3) == 0) c.text += "  if (" + condition() + ") return;\n";
    if (loop) {
      c.text += counts_down ? "  for (int i = " + expression(1) + "; i > 0; i -= " + number(1, 4) + ") {\n"
                            : "  for (" + std::string(pick(2) ? "int" : "uint") + " i = " + expression(1) + "; i < " +
                                  expression(1) + " && i < 300; i += " + number(1, 5) + ") {\n";
      names_.push_back("i");
    }
    if (pick(2))
      c.text += "  if (" + condition() + ") {\n";
    else
      c.text += "  {\n";
    c.text += "    " + type() + " j = " + expression(2) + far() + ";\n    if (j >= 0 && j < 1000) v += in[j];\n";
    c.text += "    " + type() + " w = " + expression(2) + far() +
              ";\n    if (w >= 0 && w < 1000) out[w] = " + (c.one_group ? "v" : "1") + ";\n  }\n";
    c.text += loop ? "  }\n}\n" : "}\n";
    for (int b = 0; b < 2; ++b) c.arguments.push_back({CaseArgument::Kind::buffer, "int", 4096, -1000, 1000, {}});
    for (int b = 0; b < 2; ++b) c.arguments.push_back({CaseArgument::Kind::value, "int", 4, b ? 0 : -5, 40, {}});
    return c;
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }
  std::string number(int low, int high) {
    return std::to_string(low + static_cast<int>(pick(static_cast<std::uint64_t>(high - low + 1))));
  }
  std::string far() { return pick(2) ? "" : " + " + number(100, 700); }  // so that windows do not begin at zero
  std::string name() { return names_[pick(names_.size())]; }
  std::string type() { return std::vector<std::string>{"int", "int", "uint", "long", "short", "uchar"}[pick(6)]; }
  std::string condition() {
    return "(" + expression(1) + ") " + std::vector<std::string>{"<", "<=", ">", ">=", "==", "!="}[pick(6)] + " (" +
           expression(1) + ")" + (pick(4) == 0 ? (pick(2) ? " && " : " || ") + condition() : "");
  }
  std::string expression(int depth) {
    const std::string a = depth > 0 ? expression(depth - 1) : name();
    switch (pick(depth > 0 ? 14 : 4)) {
      case 0:
        return name();
      case 1:
        return number(-3, 20);
      case 2:
        return number(1, 9) + " * " + name();
      case 3:
        return name() + " + " + number(-4, 30);
      case 4:
        return "(" + a + ") / " + number(1, 9);
      case 5:
        return "(" + a + ") % " + number(1, 9);
      case 6:
        return "((" + a + ") & " + number(0, 31) + ")";
      case 7:
        return "((" + a + ") >> " + number(0, 4) + ")";
      case 8:
        return std::string(pick(2) ? "min" : "max") + "((int)(" + a + "), (int)(" + expression(0) + "))";
      case 9:
        return "(" + type() + ")(" + a + ")";
      case 10:
        return "((" + expression(0) + ") < (" + expression(0) + ") ? (" + a + ") : (" + name() + "))";
      case 11:
        return "(" + a + ") * " + number(-2, 12);
      default:
        return "(" + a + ") + (" + expression(depth - 1) + ")";
    }
  }

  std::mt19937_64& random_;
  std::vector<std::string> names_;
};

std::vector<core::Box> every_group(const core::Index& groups) {
  std::vector<core::Box> out;
  for (std::int64_t z = 0; z < groups[2]; ++z)
    for (std::int64_t y = 0; y < groups[1]; ++y)
      for (std::int64_t x = 0; x < groups[0]; ++x) out.push_back({{x, y, z}, {x + 1, y + 1, z + 1}});
  return out;
}

TEST_P(OnEveryDevice, NoRangeOfAGeneratedKernelIsWrong) {
  const std::uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  Generator generator(random);
  const char* wanted = std::getenv("HEDDLE_TEST_KERNELS");  // more of them for a night
  const int count = wanted ? std::atoi(wanted) : 40;
  int known = 0, moved = 0;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const Case c = generator.next();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + c.text);
    auto opened = open(*GetParam(), c);
    ASSERT_TRUE(opened->there && opened->facts);
    for (int round = 0; round < 4 && !HasFailure(); ++round) check_ranges(*opened, c, random, false);
    const Draw d = draw(c, random, true);
    const auto boxes = c.one_group ? every_group(d.grid.groups) : window_cuts(d.grid.groups, random);
    EXPECT_EQ(
        opened->there->run_windows(*opened->facts, d.grid, boxes, d.memory, moved),
        c.one_group ? opened->there->run_boxes(d.grid, boxes, d.memory) : opened->there->run_whole(d.grid, d.memory));
    if (!c.one_group && core::addresses_stay(*opened->facts)) check_merge(*opened, c, random, false);
    known += std::none_of(opened->facts->accesses.begin(), opened->facts->accesses.end(),
                          [](const auto& a) { return !a.index; });
  }
  EXPECT_GT(known, 0);
  EXPECT_GT(moved, 0);
}

TEST_P(OnEveryDevice, ItsMacrosAreTheOnesThatItsCompilerHas) {
  const Target told = target(*GetParam());
  EXPECT_GE(std::stoi(told.macros.at("__OPENCL_VERSION__")), 120);
  EXPECT_EQ(told.macros.count("__ENDIAN_LITTLE__"), 1u);
  EXPECT_EQ(told.macros.size() + told.absent_macros.size(), macro_probe_size());
  std::string text = "#if 1\n";
  for (const char* name : {"__OPENCL_VERSION__", "__OPENCL_C_VERSION__"})
    text +=
        "#endif\n#if " + std::string(name) + " == " + told.macros.at(name) + "\nkernel void same" + name + "() {}\n";
  for (const char* name : {"__clang__", "__GNUC__", "__aarch64__", "__x86_64__", "__SPIR__", "__IMAGE_SUPPORT__"})
    text += std::string("#endif\n#if") + (told.macros.count(name) ? "def " : "ndef ") + name + "\nkernel void same" +
            name + "() {}\n";
  const Analysis analysis = device::must(compiler().analyse({text + "#endif\n", "", told}));
  EXPECT_EQ(analysis.facts.kernels.size(), 8u);
}

// Nine in ten of the written arguments of affine workloads must be exact; here all of them are.
TEST(Workloads, WrittenRangesAreExact) {
  int exact = 0, written = 0;
  std::mt19937_64 random(1);
  for (const Case& c : workload_cases()) {
    const Analysis analysis = device::must(compiler().analyse({c.text, c.options, {}}));
    for (const core::KernelFacts& facts : analysis.facts.kernels) {
      if (facts.name != c.entry) continue;
      const Draw d = draw(c, random, true);
      const core::BoundKernel bound(facts, d.grid, scalars_of(c, d.memory));
      for (int k = 0; k < 4; ++k) {
        const core::Box box = k == 0 ? core::Box{{0, 0, 0}, d.grid.groups} : random_box(d.grid.groups, random);
        for (const core::Touched& t : bound.touched(box)) {
          if (t.written.none()) continue;
          ++written;
          exact += t.written.certainty == core::Certainty::exact;
          EXPECT_EQ(t.written.certainty, core::Certainty::exact) << c.name << " box " << core::to_string(box);
        }
      }
    }
  }
  EXPECT_GE(written, 60);
  EXPECT_GE(exact * 10, written * 9);
}

INSTANTIATE_TEST_SUITE_P(Kernelc, OnEveryDevice, testing::ValuesIn(whole_devices()), device::device_name);

}  // namespace
}  // namespace heddle::kernel
