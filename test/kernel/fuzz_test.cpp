// Sources that nobody wrote: mutated kernels, random bytes, deep nesting, a megabyte. The client survives all of them,
// and the compiler's memory stays within its limit.
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/log.hpp"
#include "kernel/compiler.hpp"
#include "test/kernel/case.hpp"

namespace heddle::kernel {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

Compiler& compiler() {
  static Compiler one(Options{.program = installed_compiler(), .limits = {.seconds = 10}});
  return one;
}

TEST(Fuzz, MutatedKernels) {
  core::set_log_sink([](core::LogLevel, std::string_view) {});
  const auto corpus = cases_in(HEDDLE_TEST_DATA "/cases");
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string pieces[] = {"get_global_id(0)",
                                "get_group_id(0)",
                                "*",
                                "+",
                                "-",
                                "/ 0",
                                "% 0",
                                "<< 70",
                                ">> 3",
                                "(",
                                ")",
                                "{",
                                "}",
                                ";",
                                "return;",
                                "0x7fffffff",
                                "-1",
                                "18446744073709551615ul",
                                "for (;;) ",
                                "while (1) ",
                                "if (0) ",
                                "goto x;",
                                "x:",
                                "(uint)",
                                "(char)",
                                "1.5f",
                                "barrier(1);",
                                "&",
                                "[",
                                "]",
                                "kernel ",
                                "global ",
                                "\n#define N "};
  int answered = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = corpus[random() % corpus.size()].text;
    for (int m = 1 + static_cast<int>(random() % 4); m > 0; --m) {
      const std::size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 2:
          text[at] = static_cast<char>(32 + random() % 95);
          break;
        case 3: {  // a number becomes another
          const std::size_t digit = text.find_first_of("0123456789", at);
          if (digit != std::string::npos)
            text.replace(digit, 1, std::to_string(static_cast<std::int64_t>(random()) >> (random() % 64)));
          break;
        }
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
      }
      if (text.empty()) text = " ";
    }
    const auto analysis = compiler().analyse({text, "-I " HEDDLE_TEST_DATA "/cases", {}}, {"box", "window", "merge"});
    answered += analysis.ok() || analysis.failure().kind == core::FailureKind::build;
    if (!analysis) continue;
    // Facts of odd kernels must be evaluated without harm, too.
    for (const core::KernelFacts& facts : analysis.value().facts.kernels) {
      std::vector<std::vector<std::byte>> scalars;
      for (const auto& a : facts.arguments)
        scalars.emplace_back(a.space == core::AddressSpace::value ? a.size : 0, static_cast<std::byte>(random()));
      const core::BoundKernel bound(facts, {{7, 5, 3}, {8, 2, 1}, {1, 0, 0}, 3}, scalars);
      bound.touched({{1, 1, 1}, {5, 4, 3}});
    }
  }
  EXPECT_GT(answered, 1480);  // crashes of clang itself are possible, but rare
  core::set_log_sink({});
}

TEST(Fuzz, RandomBytesAndDamagedText) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    std::string text(random() % 2000, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_FALSE(compiler().analyse({text + "x", "", {}}));
  }
  EXPECT_TRUE(compiler().analyse({"kernel void k() {}", "", {}}));
}

TEST(Fuzz, DeepNestingAndLongSources) {
  const std::string sources[] = {
      "kernel void k(global int* o) { o[0] = " + repeated("(", 200) + "1" + repeated(")", 200) + "; }",
      "kernel void k(global int* o) { o[0] = " + repeated("(", 100'000) + "1" + repeated(")", 100'000) + "; }",
      "kernel void k(global int* o) {" + repeated("{", 50'000) + repeated("}", 50'000) + "}",
      "kernel void k(global int* o) {" + repeated("for (int i = 0; i < o[1]; ++i) ", 200) + "o[i] = 1; }",
      "kernel void k(global int* o) { o[0] = 1" + repeated(" + 1", 100'000) + "; }",
      "#define A A1 A1 A1 A1\n#define A1 A2 A2 A2 A2\n#define A2 A3 A3 A3 A3\n#define A3 A4 A4 A4 A4\n#define A4 A5 A5 "
      "A5 A5\n#define A5 A6 A6 A6 A6\n"
      "#define A6 A7 A7 A7 A7\n#define A7 A8 A8 A8 A8\n#define A8 A9 A9 A9 A9\n#define A9 1+1+1+1\nkernel void "
      "k(global int* o) { o[0] = A; }",
  };
  for (const std::string& text : sources)
    (void)compiler().analyse({text, "", {}}, {"box", "window", "merge"});  // whatever it says
  std::string megabyte;
  for (int i = 0; megabyte.size() < (1 << 20); ++i)
    megabyte += "kernel void k" + std::to_string(i) +
                "(global int* o, int n) { int i = get_global_id(0); if (i < n) o[i * " + std::to_string(i) +
                "] = i; }\n";
  const auto analysis = compiler().analyse({megabyte, "", {}}, {"box", "window", "merge"});
  EXPECT_TRUE(analysis || analysis.failure().kind == core::FailureKind::unsupported);
  EXPECT_TRUE(compiler().analyse({"kernel void k() {}", "", {}}));
}

TEST(Fuzz, MemoryOfTheCompilerIsBounded) {
  auto process = Process::start(installed_compiler(), {});
  ASSERT_TRUE(process);
  const std::string request =
      R"({"source": "kernel void k(global int* o) { o[get_global_id(0)] = 1; }", "want": ["facts", "box", "window", "merge"]})";
  auto resident = [&] {
    std::ifstream in("/proc/" + std::to_string(process->id()) + "/statm");
    long size = 0, pages = 0;
    in >> size >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(process->exchange(request, until));
  const long before = resident();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(process->exchange(request, until));
  EXPECT_LT(resident() - before, 20 << 20);
}

}  // namespace
}  // namespace heddle::kernel
