// The client lives inside other people's programs: whatever the compiler's process does, the program must not notice.
#include "kernel/compiler.hpp"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::kernel {
namespace {

const char* const source = "kernel void k(global int* out) { out[get_global_id(0)] = get_group_id(0); }\n";

Options real(const std::string& cache = "") { return {.program = installed_compiler(), .cache = cache}; }

// A program that stands in for the compiler.
Options fake(const TemporaryFolder& folder, const std::string& script) {
  static int count = 0;  // one that is still running cannot be written to
  const std::string path = folder.write("fake" + std::to_string(count++), "#!/bin/bash\n" + script);
  ::chmod(path.c_str(), 0755);
  return {.program = path, .limits = {.seconds = 1}};
}

std::vector<std::string> warnings_of(const std::function<void()>& work) {
  std::vector<std::string> out;
  auto before = core::set_log_sink([&](core::LogLevel level, std::string_view text) {
    if (level == core::LogLevel::warn) out.emplace_back(text);
  });
  work();
  core::set_log_sink(before);
  return out;
}

TEST(Compiler, AnswersAndStaysResident) {
  Compiler compiler(real());
  auto analysis = compiler.analyse({source, "", {}}, {"box"});
  ASSERT_TRUE(analysis) << analysis.failure().what << analysis.failure().log;
  ASSERT_EQ(analysis->facts.kernels.size(), 1u);
  EXPECT_EQ(analysis->facts.kernels[0].name, "k");
  EXPECT_NE(analysis->forms.at("box").source.find("heddle_base"), std::string::npos);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(compiler.analyse({source + std::to_string(i) + ";", "", {}}).failure().kind ==
                core::FailureKind::build);
  EXPECT_TRUE(compiler.analyse({source, "", {}}));
}

TEST(Compiler, OneProcessPerRequestIsPossible) {
  Options options = real();
  options.resident = false;
  Compiler compiler(options);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(compiler.analyse({source, "-DN=" + std::to_string(i), {}}));
}

TEST(Compiler, ErrorsOfASourceAreTold) {
  Compiler compiler(real());
  const auto analysis = compiler.analyse({"kernel void k() { nonsense; }", "", {}});
  ASSERT_FALSE(analysis);
  EXPECT_EQ(analysis.failure().kind, core::FailureKind::build);
  EXPECT_NE(analysis.failure().log.find("nonsense"), std::string::npos);
}

TEST(Compiler, AnyByteOfASourceArrives) {
  Compiler compiler(real());
  std::string text = "constant char odd[] = \"";
  for (int b = 128; b < 256; ++b) text += static_cast<char>(b);
  text += "\";\nkernel void k(global char* o) { o[get_group_id(0)] = odd[get_local_id(0)]; }";
  auto analysis = compiler.analyse({text, "", {}}, {"box"});
  ASSERT_TRUE(analysis) << analysis.failure().log;
  EXPECT_NE(analysis->forms.at("box").source.find(text.substr(0, 150)), std::string::npos);
}

std::string kernels_of(Compiler& compiler, const std::string& text, const Target& target,
                       const std::string& options = "") {
  std::string out;
  auto analysis = compiler.analyse({text, options, target});
  if (!analysis) return analysis.failure().what;
  for (const auto& k : analysis->facts.kernels) out += k.name + " ";
  return out;
}

TEST(Compiler, MacrosOfADeviceCount) {
  Compiler compiler(real());
  const std::string standard =
      "#ifdef cl_khr_fp64\nkernel void fp64() {}\n#endif\n"
      "#if __OPENCL_VERSION__ == 123\nkernel void version() {}\n#endif\n";
  const std::string vendors =
      "#ifdef __NV_CL_C_VERSION\nkernel void nv() {}\n#endif\n#ifdef __SPIR__\nkernel void spir() {}\n#endif\n";
  const Target nvidia{{"cl_khr_fp16"}, {{"__NV_CL_C_VERSION", "120"}, {"__OPENCL_VERSION__", "123"}}, {"__SPIR__"}};
  EXPECT_EQ(kernels_of(compiler, standard, {}), "fp64 ");
  EXPECT_EQ(kernels_of(compiler, vendors + standard, nvidia), "nv version ");
}

// Whatever way the source would take through #if, the device's compiler may take another.
TEST(Compiler, MacrosThatNobodyToldMeanNoFacts) {
  Compiler compiler(real());
  const std::string end = "\nkernel void a() {}\n#endif\nkernel void b() {}\n", x = "__linux__";
  for (const std::string& text :
       {"#ifdef " + x, "#ifndef " + x, "#if defined(" + x + ")", "#if 0\n#elif " + x, "#define Q " + x + "\n#if Q",
        "#ifndef " + x + "\n#define " + x + " 0\n#endif\n#if " + x, std::string("#if __SIZEOF_LONG__ == 8"),
        std::string("#if __has_builtin(__builtin_abs)")}) {
    SCOPED_TRACE(text);
    EXPECT_NE(kernels_of(compiler, text + end, {}).find("which only the device's compiler knows"), std::string::npos);
  }
  const std::string asks = "#ifdef " + x + end;
  EXPECT_EQ(kernels_of(compiler, asks, {{}, {{x, "1"}}}), "a b ");
  EXPECT_EQ(kernels_of(compiler, asks, {{}, {}, {x}}), "b ");
  EXPECT_EQ(kernels_of(compiler, asks, {}, "-D" + x), "a b ");
  EXPECT_EQ(kernels_of(compiler, asks, {}, "-U" + x), "b ");
  EXPECT_EQ(kernels_of(compiler, "#undef " + x + "\n" + asks, {}), "b ");
  EXPECT_EQ(kernels_of(compiler, "#if 0 // " + x + "\n#if " + x + "\n#endif" + end, {}), "b ");
  EXPECT_EQ(kernels_of(compiler, "#ifndef __ONCE_H__\n#define __ONCE_H__ 1" + end, {}), "a b ");
  EXPECT_EQ(kernels_of(compiler, "#ifdef __OPENCL_VERSION__" + end, {}), "a b ");
}

// The names of the kernels that are left of a text where each stands between #ifdef NAME and #endif.
std::string defined(const std::vector<std::string>& names, const std::string& options, const Target& target) {
  std::string text, out;
  for (const std::string& name : names) text += "#ifdef " + name + "\nkernel void has_" + name + "() {}\n#endif\n";
  Compiler compiler(real());
  auto analysis = compiler.analyse({text, options, target});
  if (!analysis) return analysis.failure().what + analysis.failure().log;
  for (const auto& k : analysis.value().facts.kernels) out += k.name.substr(4) + " ";
  return out;
}

TEST(Compiler, WhatADeviceOrAStandardLacksIsNotDefined) {
  const std::vector<std::string> vendors = {"__clang__", "__IMAGE_SUPPORT__", "__FAST_RELAXED_MATH__"};
  EXPECT_EQ(defined(vendors, "-cl-fast-relaxed-math", {.macros = {{"__clang__", "1"}}}),
            "__clang__ __IMAGE_SUPPORT__ __FAST_RELAXED_MATH__ ");
  EXPECT_EQ(defined(vendors, "-cl-fast-relaxed-math", {.absent_macros = vendors}), "__FAST_RELAXED_MATH__ ");

  const std::vector<std::string> standard = {"FLT_MAX", "HALF_MAX", "MAX_WORK_DIM", "ATOMIC_VAR_INIT"};
  EXPECT_EQ(defined(standard, "", {{"cl_khr_fp64"}, {}}), "FLT_MAX ");
  EXPECT_EQ(defined(standard, "", {{"cl_khr_fp16"}, {}}), "FLT_MAX HALF_MAX ");
  EXPECT_EQ(defined(standard, "-cl-std=CL2.0", {{"cl_khr_fp64"}, {}}), "FLT_MAX MAX_WORK_DIM ATOMIC_VAR_INIT ");
  // Without -cl-std it is what the device's compiler takes by itself.
  EXPECT_EQ(defined(standard, "", {{}, {{"__OPENCL_C_VERSION__", "300"}}}),
            "FLT_MAX HALF_MAX MAX_WORK_DIM ATOMIC_VAR_INIT ");
  // Features that are extensions too need not be told twice.
  EXPECT_EQ(defined({"__opencl_c_fp64", "__opencl_c_3d_image_writes", "__opencl_c_pipes"}, "-cl-std=CL3.0",
                    {{"cl_khr_fp64", "cl_khr_3d_image_writes"}, {}}),
            "__opencl_c_fp64 __opencl_c_3d_image_writes ");
}

TEST(Compiler, DefinitionsOfNamesThatTheTextKeepsArePassedOn) {
  Compiler compiler(real());
  const auto analysis = compiler.analyse(
      {"kernel void k(global float* o) { o[0] = M_PI_F + N; }", "-DM_PI_F=2.0f -DN=3 -w '-DMAXFLOAT=(1 + 2)'", {}},
      {"box"});
  ASSERT_TRUE(analysis) << analysis.failure().log;
  EXPECT_EQ(analysis.value().options, "-w \"-DMAXFLOAT=(1 + 2)\" -DM_PI_F=2.0f");
  EXPECT_NE(analysis.value().forms.at("box").source.find("M_PI_F + 3"), std::string::npos);
}

TEST(Compiler, WhatItDoesNotKnowIsNoErrorOfTheSource) {
  Compiler compiler(real());
  const std::string zero(1, '\0');
  for (const Source& s : {Source{source, "-cl-std=CL2.2", {}}, Source{source, "-cl-std=CLC++", {}},
                          Source{source + zero + source, "", {}},
                          Source{"#if FP_ILOGB0 == -2147483647\n#endif\n" + std::string(source), "", {}}}) {
    const auto analysis = compiler.analyse(s);
    ASSERT_FALSE(analysis);
    EXPECT_EQ(analysis.failure().kind, core::FailureKind::unsupported) << analysis.failure().log;
  }
  EXPECT_TRUE(compiler.analyse({source + zero + zero, "", {}}));
}

TEST(Compiler, WhatHasNoPlaceForArgumentsIsRefused) {
  Compiler compiler(real());
  for (const char* helper :
       {"int h(a) int a; { return a + get_group_id(0); }",
        "typedef int f(int); f h; int g(void) { return h(1); } int h(int a) { return get_group_id(a); }",
        "int h(int a) { return get_group_id(a); } kernel void l(global int* uint4) {}"}) {
    const auto analysis =
        compiler.analyse({std::string(helper) + "kernel void k(global int* o) { o[0] = h(1); }", "", {}}, {"box"});
    ASSERT_TRUE(analysis) << analysis.failure().log;
    EXPECT_NE(analysis.value().forms.at("box").refused, "") << helper;
  }
}

TEST(Compiler, OnlyTheConstOfAPointerItselfGoes) {
  Compiler compiler(real());
  const auto analysis = compiler.analyse(
      {"kernel void k(global const int *__const restrict const __attribute__((const)) p, const int n) {}", "", {}},
      {"window"});
  ASSERT_TRUE(analysis) << analysis.failure().log;
  const Form& form = analysis.value().forms.at("window");
  EXPECT_NE(form.source.find("global const int * restrict  __attribute__((const)) p, const int n"), std::string::npos)
      << form.source << form.refused;
}

// A pointer that cannot be moved is refused by the window form alone.
TEST(Compiler, PointersThatStayConstHaveNoWindows) {
  Compiler compiler(real());
  for (const auto& [text, why] :
       {std::pair("typedef global int* const t; kernel void k(t p) {}", "the const of parameter 'p'"),
        std::pair("typedef global int* t; kernel void k(const t p) {}", "the const of parameter 'p'"),
        std::pair("kernel void k(global int p[const]) {}", "the const of parameter 'p'"),
        std::pair("kernel void k(global int* p, int size_t) {}", "the name of a type, size_t"),
        std::pair("kernel void k(global int* ulong) {}", "the name of a type, ulong"),
        std::pair("kernel void k(global int* p, global int* q) { if (p != q) p[0] = 1; }", "it looks at addresses"),
        std::pair("kernel void k(global int* p, global int* q) { p[0] = (int)(q - p); }", "it looks at addresses"),
        std::pair("kernel void k(global int* p) { p[0] = (int)((size_t)p & 15); }", "it looks at addresses")}) {
    const auto analysis = compiler.analyse({text, "", {}}, {"box", "window"});
    ASSERT_TRUE(analysis) << text << analysis.failure().log;
    EXPECT_EQ(analysis.value().forms.at("box").refused, "") << text;
    EXPECT_NE(analysis.value().forms.at("window").refused.find(why), std::string::npos)
        << text << analysis.value().forms.at("window").refused;
  }
}

TEST(Compiler, StoresThatCannotBeReplacedHaveNoMergeForm) {
  Compiler compiler(real());
  for (const auto& [text, why] :
       {std::pair("kernel void k(global int* p, int n) { n = (p[0] = 2); p[n] = 1; }", "what a store gives is used"),
        std::pair("kernel void k(global int* p, int n) { if (n && p[1]++) p[0] = 1; }", "what a store gives is used"),
        std::pair("kernel void k(global int4* p, int n) { p[0][n] = 1; }", "a lane of a vector"),
        std::pair("struct s { int a; }; kernel void k(global struct s* p) { p[0] = p[1]; }", "a whole object"),
        std::pair(
            "struct s { char a; int b; } __attribute__((packed)); kernel void k(global struct s* p) { p->b = 1; }",
            "not aligned"),
        std::pair("kernel void k(global int* p) { atomic_inc(p); }", "'atomic_inc' may store"),
        std::pair("kernel void k(global float* p, float x) { p[1] = fract(x, p); }", "'fract' may store"),
        std::pair("kernel void k(global half* p, float x) { vstore_half(x, 0, p); }", "'vstore_half' may store"),
        std::pair("kernel void k(write_only image2d_t i, global int* p) { write_imagef(i, (int2)(1), (float4)(1)); }",
                  "it writes images"),
        std::pair("kernel void j(global int* p) { p[0] = 1; } kernel void k(global int* p) { j(p); }",
                  "a kernel calls a kernel"),
        std::pair("kernel void k(global int* p) { if ((size_t)p & 15) p[0] = 1; }", "it looks at addresses"),
        std::pair("kernel void k(global int* p) { if (as_ulong(p) & 15) p[0] = 1; }", "it looks at addresses"),
        std::pair("int f(int* n) { return ++*n; } kernel void k(global int* p, int n) { p[n] = f(&n); }",
                  "changes variables"),
        std::pair("kernel void k(global int* p, int n, int m) { p[n] = m++; }", "changes variables"),
        std::pair("kernel void k(global int* p) { __builtin_nontemporal_store(1, p + 2); }", "may store"),
        std::pair("kernel void k(global int* p, int n) { if (__builtin_add_overflow(n, 5, p)) p[1] = 1; }",
                  "may store"),
        std::pair("kernel void k(global int* p) { p[get_sub_group_local_id()] = 1; }", "differs between devices"),
        std::pair("kernel void k(global int* p, int n) { n = ({ p[0] = 5; }); }", "a statement that is an expression"),
        std::pair("kernel void k(global int* p, int2 v) { (vstore2)(v, 0, p); }", "'vstore2' is not followed"),
        std::pair("kernel void k(global const int* p, global int* q) { global const int* r = p; "
                  "(*(global int**)&r)[0] = 3; q[0] = 1; }",
                  "a cast of a pointer to a pointer"),
        std::pair("kernel void k(global const int* p, global int* q) { ((global int*)p)[0] = 1; q[0] = 1; }",
                  "a cast from"),
        std::pair("kernel void k(global const int* p) { global uint* q = p; *q = 1; }", "a cast from"),
        std::pair("kernel void k(global int* p) { typedef int uchar; p[0] = (uchar)1; }", "is called uchar"),
        std::pair("kernel void k(int n) {}", "it stores to no buffer")}) {
    const auto analysis = compiler.analyse({text, "", {}}, {"merge"});
    ASSERT_TRUE(analysis) << text << analysis.failure().log;
    EXPECT_NE(analysis.value().forms.at("merge").refused.find(why), std::string::npos)
        << text << analysis.value().forms.at("merge").refused << analysis.value().forms.at("merge").source;
  }
  const auto anywhere = compiler.analyse(
      {"void put(int* p) { *p = 1; } kernel void k(global int* p) { put(p); }", "-cl-std=CL2.0", {}}, {"merge"});
  ASSERT_TRUE(anywhere) << anywhere.failure().log;
  EXPECT_EQ(anywhere.value().forms.at("merge").refused, "a store through a pointer to any memory");
}

TEST(Compiler, OnlyFormsThatAreAskedForAreMade) {
  const TemporaryFolder folder;
  Compiler compiler(real(folder.path("cache")));
  for (const std::vector<std::string>& asked : {std::vector<std::string>{},
                                                {"box"},
                                                {"window"},
                                                {"box", "window"},
                                                {"box"}}) {  // an answer kept is for its own
    const auto analysis = compiler.analyse({source, "", {}}, asked);
    ASSERT_TRUE(analysis) << analysis.failure().log;
    std::vector<std::string> made;
    for (const auto& [name, form] : analysis.value().forms) made.push_back(name);
    EXPECT_EQ(made, asked);
  }
}

TEST(Compiler, AbsentCrashingHangingAndTalkingNonsenseMeanNoFacts) {
  const TemporaryFolder folder;
  const std::pair<const char*, Options> cases[] = {
      {"absent", {.program = folder.path("nosuch")}},
      {"none", {}},
      {"crash", fake(folder, "kill -SEGV $$")},
      {"ends", fake(folder, "exit 0")},
      {"hangs", fake(folder, "sleep 60")},
      {"garbage", fake(folder, "head -c 4 <&3 >/dev/null; printf '\\x05\\x00\\x00\\x00hello' >&3; sleep 60")},
      {"no facts", fake(folder, "printf '\\x0b\\x00\\x00\\x00{\"ok\":true}' >&3; sleep 5")},
      {"endless", fake(folder, "printf '\\xff\\xff\\xff\\xff' >&3; cat /dev/zero >&3")},
      {"half", fake(folder, "printf '\\x05\\x00\\x00\\x00he' >&3")}};
  for (const auto& [name, options] : cases) {
    SCOPED_TRACE(name);
    Compiler compiler(options);
    const auto begin = std::chrono::steady_clock::now();
    const auto first = compiler.analyse({source, "", {}});
    ASSERT_FALSE(first);
    EXPECT_EQ(first.failure().kind, core::FailureKind::unsupported);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_FALSE(compiler.analyse({source, "", {}}));  // and at once
  }
}

TEST(Compiler, SaysItOnce) {
  const TemporaryFolder folder;
  const auto said = warnings_of([&] {
    Compiler compiler(fake(folder, "exit 1"));
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(compiler.analyse({source, "-DI=" + std::to_string(i), {}}));
  });
  EXPECT_LE(said.size(), 1u);
}

TEST(Compiler, TheTimeLimitCountsOnce) {
  const TemporaryFolder folder;
  Compiler compiler(fake(folder, "printf '\\x19\\x00\\x00\\x00{\"ok\":false,\"error\":\"no\"}' >&3; sleep 60"));
  EXPECT_EQ(compiler.analyse({source, "", {}}).failure().kind, core::FailureKind::build);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(compiler.analyse({source, "-DX", {}}).failure().kind, core::FailureKind::unsupported);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST(Compiler, AFailureToStartMayPass) {
  Compiler compiler(real());
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto without = compiler.analyse({source, "", {}});
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.failure().kind, core::FailureKind::unsupported);
  EXPECT_TRUE(compiler.analyse({source, "", {}}));
}

TEST(Compiler, TheHostsFolderMayBeGone) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  const std::string text = "#include \"n.h\"\nkernel void k(global int* out) { out[N * get_global_id(0)] = 1; }";
  std::filesystem::create_directories(folder.path("gone/below"));
  folder.write("gone/below/n.h", "#define N 1\n");
  std::filesystem::current_path(folder.path("gone"));
  Compiler compiler(real());
  EXPECT_TRUE(compiler.analyse({text, "-I below", {}}));
  std::filesystem::remove_all(folder.path("gone"));
  EXPECT_EQ(compiler.analyse({text, "-I below", {}}).failure().kind, core::FailureKind::build);
  EXPECT_TRUE(compiler.analyse({source, "", {}}));
  EXPECT_TRUE(Compiler(real()).analyse({source, "", {}}));  // one that starts there
  std::filesystem::current_path(before);
}

TEST(Compiler, TheHostNeverSeesAChild) {
  static std::atomic<int> signals{0};
  struct sigaction watch {
  }, before{};
  watch.sa_handler = [](int) { ++signals; };
  ::sigaction(SIGCHLD, &watch, &before);
  {
    Compiler compiler(real());
    ASSERT_TRUE(compiler.analyse({source, "", {}}));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
  ::usleep(100'000);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(signals, 0);
  ::sigaction(SIGCHLD, &before, nullptr);
}

// Process 1 of a container is the parent of all orphans. It is to have no more of the compiler than a signal.
TEST(Compiler, AHostThatInheritsOrphansHasNoneLeft) {
  const pid_t host = ::fork();
  if (host == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    bool answered = false, inherited = false;
    {
      Compiler compiler(real());
      answered = compiler.analyse({source, "", {}}).ok();
      inherited = ::waitpid(-1, nullptr, WNOHANG) == 0;
    }
    ::_exit(answered && inherited && ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  EXPECT_EQ(status, 0);
}

std::string read_link(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::read_symlink(path, ignored).string();
}

TEST(Process, HasNothingOfTheHostAndEndsWithItsSocket) {
  ::setenv("HEDDLE_TEST_SECRET", "1", 1);
  const int mine = ::open("/etc/passwd", O_RDONLY);  // inheritable
  pid_t id = 0;
  {
    auto process = Process::start(installed_compiler(), {});
    ASSERT_TRUE(process);
    id = process->id();
    ASSERT_TRUE(process->exchange("{}", std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    const std::string place = "/proc/" + std::to_string(id);
    int descriptors = 0;
    for (const auto& entry : std::filesystem::directory_iterator(place + "/fd")) {
      ++descriptors;
      EXPECT_EQ(read_link(entry.path()).find("passwd"), std::string::npos);
    }
    EXPECT_EQ(descriptors, 4);
    std::ifstream environment(place + "/environ");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(environment), {}), "");
    EXPECT_EQ(::getsid(id), id);
    EXPECT_NE(::getsid(id), ::getsid(0));
  }
  ::close(mine);
  for (int i = 0; i < 200 && ::kill(id, 0) == 0; ++i) ::usleep(10'000);
  EXPECT_NE(::kill(id, 0), 0);
}

TEST(Compiler, AForkedChildHasNoCompilerAndTheParentKeepsIts) {
  Compiler compiler(real());
  ASSERT_TRUE(compiler.analyse({source, "", {}}));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto answer = compiler.analyse({source, "-DX", {}});
    ::_exit(!answer && answer.failure().what.find("forked") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(compiler.analyse({source, "-DY", {}}));
}

TEST(Process, AForkedChildThatEndsInOrderLeavesItAlone) {
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(20); };
  std::optional<Process> process = Process::start(installed_compiler(), {}).value();
  ASSERT_TRUE(process->exchange("{}", soon()));
  const pid_t child = ::fork();
  if (child == 0) {
    process.reset();  // as destructors of static objects do
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(process->exchange("{}", soon()));
}

TEST(Compiler, KilledInBetweenItIsStartedAgain) {
  const TemporaryFolder folder;
  Options options = real();
  const std::string mine = folder.path("kernelc");  // a program that no other process runs
  std::filesystem::copy_file(options.program, mine);
  options.program = mine;
  Compiler compiler(options);
  ASSERT_TRUE(compiler.analyse({source, "", {}}));
  int killed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || read_link(entry.path() / "exe") != mine) continue;
    killed += ::kill(static_cast<pid_t>(std::stol(name)), SIGKILL) == 0;
  }
  EXPECT_EQ(killed, 1);
  EXPECT_TRUE(compiler.analyse({source, "-DX", {}}));
}

TEST(Cache, AnswersComeBackAndDamageIsNoAnswer) {
  const TemporaryFolder folder;
  const Options options = real(folder.path("cache"));
  const std::string first = core::to_json(Compiler(options).analyse({source, "", {}}).value().facts);
  // From the cache alone: a compiler that cannot be started under the same key.
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(options.cache), {}), 1);
  const auto file = std::filesystem::directory_iterator(options.cache)->path();
  EXPECT_EQ(core::to_json(Compiler(options).analyse({source, "", {}}).value().facts), first);
  std::ofstream(file, std::ios::app) << "x";
  EXPECT_EQ(core::to_json(Compiler(options).analyse({source, "", {}}).value().facts), first);
  std::ofstream(file) << "";
  EXPECT_EQ(core::to_json(Compiler(options).analyse({source, "", {}}).value().facts), first);
}

TEST(Cache, WhatIncludesFilesIsNotKept) {
  const TemporaryFolder folder;
  Options options = real(folder.path("cache"));
  Compiler compiler(options);
  folder.write("n.h", "#define N 1\n");
  const std::string text = "#include \"n.h\"\nkernel void k(global int* out) { out[N * get_global_id(0)] = 1; }";
  const std::string before = core::to_json(compiler.analyse({text, "-I " + folder.path(), {}}).value().facts);
  folder.write("n.h", "#define N 2\n");
  EXPECT_NE(core::to_json(compiler.analyse({text, "-I " + folder.path(), {}}).value().facts), before);
}

TEST(Cache, ManyProcessesAndThreadsAtOnce) {
  const TemporaryFolder folder;
  const Options options = real(folder.path("cache"));
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      Compiler compiler(options);
      std::atomic<int> wrong{0};
      {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 3; ++t) {
          threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
              const auto answer = compiler.analyse({source, "-DN=" + std::to_string(i), {}});
              wrong += !answer || answer.value().facts.kernels.size() != 1;
            }
          });
        }
      }
      ::_exit(wrong == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace heddle::kernel
