// Trial builds: what is built there is quick to build here; and whatever happens to a compiler is a failure with a
// name, after which the next build is tried as if nothing had been.
#include "device/build_worker.hpp"

#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/prepare.hpp"
#include "test/device/any_device.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::device {
namespace {

using core::FailureKind;
using Ask = BuildWorker::Ask;
namespace fs = std::filesystem;

constexpr std::chrono::seconds plenty{60};
constexpr const char* source =
    "kernel void add(global int* x, int plus, local int* t) {\n"
    "  const int i = get_global_id(0);\n"
    "  t[get_local_id(0)] = plus + N;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  x[i] += t[get_local_size(0) - 1 - get_local_id(0)];\n"
    "}\n";
const core::NdRange range{{0, 0, 0}, {1024, 1, 1}, {16, 1, 1}, 1};

// Each number is a source of its own.
Ask ask(int number, const std::string& more = "") {
  return {{source + more, "-DN=" + std::to_string(number)},
          "add",
          range,
          std::vector<TrialArgument>{ZeroBuffer{4096}, Scalar(4), LocalMemory{64}}};
}

// PoCL reads its variable when it is loaded: so before any test.
class PoclCache : public testing::Environment {
 public:
  PoclCache() { ::setenv("POCL_CACHE_DIR", folder_.path().c_str(), 1); }
  std::set<std::string> binaries() const {
    std::set<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".so") out.insert(entry.path().string());
    }
    return out;
  }

 private:
  TemporaryFolder folder_;
};
const auto& pocl_cache = static_cast<PoclCache&>(*testing::AddGlobalTestEnvironment(new PoclCache));

std::string children_of(pid_t id) {
  const std::string place = "/proc/" + std::to_string(id);
  std::ifstream in(place + "/task/" + std::to_string(id) + "/children");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool ends(pid_t id) {
  for (int i = 0; i < 500 && ::kill(id, 0) == 0; ++i) ::usleep(10'000);
  return ::kill(id, 0) != 0;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class TrialBuild : public testing::TestWithParam<Device*> {
 protected:
  TemporaryFolder folder_;
  const core::Settings settings_ = test_settings("all", folder_.path("cache"));
};

TEST_P(TrialBuild, LeavesNothingToCompileHere) {
  // A device with a cache; those of every_device() have none.
  const std::string id = GetParam()->info().id;
  Machine machine = open_machine(test_settings(id.find('.') == std::string::npos ? id : "cpu/2", folder_.path("cache")),
                                 process_environment);
  Device* device = nullptr;
  for (auto& one : machine.devices) {
    if (one->info().id == id) device = one.get();
  }
  ASSERT_TRUE(device);
  BuildWorker worker(device->info(), settings_);
  static int number = 1000;  // PoCL keeps by the preprocessed source, and no other test has this one
  const Ask wanted = ask(number++);
  const auto before = pocl_cache.binaries();
  ASSERT_TRUE(worker.build(wanted, plenty)) << worker.build(wanted, plenty).failure().what;
  const auto tried = pocl_cache.binaries();
  const bool pocl = device->info().driver.rfind("Portable Computing Language", 0) == 0;
  EXPECT_TRUE(!pocl || tried.size() > before.size());

  auto program = must(device->build(wanted.source));
  EXPECT_TRUE(program->from_cache);
  auto kernel = must(program->kernel("add"));
  auto queue = must(device->open_queue());
  auto buffer = must(device->allocate(4096));
  const Argument arguments[] = {BufferArgument{buffer.get()}, scalar(7), LocalMemory{64}};
  EXPECT_TRUE(prepare(*device, *queue, {*kernel, arguments, range}));
  EXPECT_EQ(pocl_cache.binaries(), tried);
}

TEST_P(TrialBuild, SaysWhatTheCompilerSaid) {
  BuildWorker worker(GetParam()->info(), settings_);
  const auto built = worker.build(ask(1, "int oops() { return undeclared_thing; }"), plenty);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.failure().kind, FailureKind::build);
  EXPECT_NE(built.failure().log.find("undeclared_thing"), std::string::npos) << built.failure().log;
  EXPECT_TRUE(worker.build(ask(1), plenty));
  Ask other = ask(1);
  other.entry = "subtract";
  EXPECT_EQ(worker.build(other, plenty).failure().kind, FailureKind::build);
  other = ask(1);
  other.range.local = {1 << 20, 1, 1};
  EXPECT_FALSE(worker.build(other, plenty));
  other.arguments.reset();  // then it is not launched
  EXPECT_TRUE(worker.build(other, plenty));
}

TEST_P(TrialBuild, IsDoneForManyInOneProcessAndAgainWhenItIsKilled) {
  BuildWorker worker(GetParam()->info(), settings_);
  ASSERT_TRUE(worker.build(ask(1), plenty));
  const pid_t watcher = worker.id();
  const std::string child = children_of(watcher);
  ASSERT_GT(std::atoi(child.c_str()), 0);
  EXPECT_TRUE(worker.build(ask(2), plenty));
  EXPECT_EQ(worker.id(), watcher);
  EXPECT_EQ(children_of(watcher), child);
  ::kill(std::atoi(child.c_str()), SIGKILL);
  ASSERT_TRUE(worker.build(ask(3), plenty));
  EXPECT_EQ(worker.id(), watcher);
  ::kill(watcher, SIGKILL);
  EXPECT_TRUE(worker.build(ask(4), plenty));
  EXPECT_NE(worker.id(), watcher);
}

TEST_P(TrialBuild, IsDoneByTwoAtOnce) {
  BuildWorker one(GetParam()->info(), settings_), other(GetParam()->info(), settings_);
  int failed[2] = {0, 0};
  const auto work = [](BuildWorker& worker, int& count) {
    for (int i = 0; i < 4; ++i) count += worker.build(ask(100 + i), plenty) ? 0 : 1;
  };
  std::thread beside([&] { work(other, failed[1]); });
  work(one, failed[0]);
  beside.join();
  EXPECT_EQ(failed[0], 0);
  EXPECT_EQ(failed[1], 0);
  EXPECT_NE(one.id(), other.id());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TrialBuild);
INSTANTIATE_TEST_SUITE_P(Every, TrialBuild, testing::ValuesIn(every_device()), device_name);

TEST(NoTrialBuild, WithoutDriverProgramOrDevice) {
  const auto fails = [](const Info& info, const BuilderProgram& program) {
    BuildWorker worker(info, test_settings("all"), program);
    const auto built = worker.build(ask(1), plenty);
    EXPECT_FALSE(built);
    if (built) return std::string();
    EXPECT_EQ(built.failure().kind, FailureKind::unsupported);
    return built.failure().what;
  };
  Info info;
  EXPECT_NE(fails(info, {}).find("no driver"), std::string::npos);
  info.library = "libnosuchdriver.so";
  EXPECT_NE(fails(info, {""}).find("no builder"), std::string::npos);
  EXPECT_NE(fails(info, {"/no/such/builder"}).find("/no/such/builder"), std::string::npos);
  EXPECT_NE(fails(info, {}).find("libnosuchdriver.so"), std::string::npos);
}

// A driver of its own for each test, which does in other processes what a script says.
class FaultyCompiler : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::ifstream("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "no PoCL";
    library_ = folder_.path("libfaulty.so");
    fs::copy_file(HEDDLE_FAULTY_DRIVER, library_);
    core::Settings settings = test_settings("all", folder_.path("cache"));
    settings.prove = "off";
    machine_ = open_machine(settings, [&](const std::string& name) {
      return name == "OCL_ICD_VENDORS" ? std::optional(library_) : std::nullopt;
    });
    ASSERT_EQ(machine_.devices.size(), 1u);
  }
  ~FaultyCompiler() override { ::unsetenv("FAULTY_SCRIPT"); }

  BuildWorker& worker(const char* script, const BuilderProgram& program = {}) {
    ::setenv("FAULTY_SCRIPT", script, 1);
    return worker_.emplace(machine_.devices.front()->info(), test_settings("all", folder_.path("cache")), program);
  }
  static void expect(const Status& built, FailureKind kind, const std::string& what) {
    ASSERT_FALSE(built);
    EXPECT_EQ(built.failure().kind, kind);
    EXPECT_NE(built.failure().what.find(what), std::string::npos) << built.failure().what;
  }

  TemporaryFolder folder_;
  std::string library_;
  Machine machine_;
  std::optional<BuildWorker> worker_;
};

TEST_F(FaultyCompiler, ThatCrashesIsAFailedBuildAndTheNextIsTried) {
  BuildWorker& tried = worker("build 2 crash");
  ASSERT_TRUE(tried.build(ask(1), plenty));
  expect(tried.build(ask(2), plenty), FailureKind::build, "its compiler crashed (SIGILL)");
  EXPECT_TRUE(tried.build(ask(3), plenty));
}

TEST_F(FaultyCompiler, ThatCrashesAtTheFirstLaunchIsOneToo) {
  expect(worker("launch 1 crash").build(ask(1), plenty), FailureKind::build, "its first launch crashed (SIGILL)");
}

TEST_F(FaultyCompiler, ThatHangsIsEndedWithWhatItStarted) {
  for (const char* script : {"build 2 hang", "launch 2 hang", "build 2 breed"}) {
    BuildWorker& tried = worker(script);
    ASSERT_TRUE(tried.build(ask(1), plenty));
    const pid_t child = std::atoi(children_of(tried.id()).c_str());
    expect(tried.build(ask(2), std::chrono::milliseconds(500)), FailureKind::hang, "did not end within 0.5 s");
    EXPECT_TRUE(ends(child));
    EXPECT_TRUE(ends(-child));  // and whoever else is in its group
    EXPECT_TRUE(tried.build(ask(3), plenty));
  }
}

TEST_F(FaultyCompiler, ThatEatsMemoryCrashesAtItsLimit) {
  BuildWorker& tried = worker("build 2 eat", {installed_builder(), Bytes{2} << 30});
  ASSERT_TRUE(tried.build(ask(1), plenty));
  expect(tried.build(ask(2), plenty), FailureKind::build, "its compiler ");  // SIGABRT; a sanitizer exits
  EXPECT_TRUE(tried.build(ask(3), plenty));
}

TEST_F(FaultyCompiler, ThatReturnsAnErrorIsNoMoreThanThat) {
  expect(worker("build 1 -5").build(ask(1), plenty), FailureKind::build, "clBuildProgram");
}

TEST_F(FaultyCompiler, LeavesNothingBehind) {
  static volatile int signals = 0;
  auto* handler = ::signal(SIGCHLD, [](int) { signals = signals + 1; });
  const std::size_t before = open_descriptors();
  BuildWorker& tried = worker("build 2 crash");
  ASSERT_TRUE(tried.build(ask(1), plenty));
  EXPECT_FALSE(tried.build(ask(2), plenty));
  ASSERT_TRUE(tried.build(ask(3), plenty));
  const pid_t watcher = tried.id(), child = std::atoi(children_of(watcher).c_str());
  worker_.reset();
  EXPECT_TRUE(ends(watcher));
  EXPECT_TRUE(ends(child));
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(signals, 0);
  ::signal(SIGCHLD, handler);
}

TEST_F(FaultyCompiler, EndsWithAHostThatIsKilled) {
  int line[2];
  ASSERT_EQ(::pipe(line), 0);
  const pid_t host = ::fork();
  if (host == 0) {
    BuildWorker& tried = worker("build 2 hang");
    const bool built = tried.build(ask(1), plenty).ok();
    const pid_t ids[] = {built ? tried.id() : -1, std::atoi(children_of(tried.id()).c_str())};
    if (::write(line[1], ids, sizeof ids) != sizeof ids) ::_exit(1);
    (void)tried.build(ask(2), plenty).ok();
    ::_exit(0);
  }
  pid_t ids[2] = {-1, -1};
  ASSERT_EQ(::read(line[0], ids, sizeof ids), static_cast<ssize_t>(sizeof ids));
  ASSERT_GT(ids[0], 0);
  ASSERT_GT(ids[1], 0);
  ::usleep(200'000);  // it hangs by now
  ::kill(host, SIGKILL);
  ASSERT_EQ(::waitpid(host, nullptr, 0), host);
  EXPECT_TRUE(ends(ids[0]));
  EXPECT_TRUE(ends(ids[1]));
  ::close(line[0]), ::close(line[1]);
}

TEST_F(FaultyCompiler, OfAHostThatInheritsOrphansLeavesNone) {
  const pid_t host = ::fork();
  if (host == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const bool built = worker("").build(ask(1), plenty).ok();
    worker_.reset();
    ::_exit(built && ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(host, &status, 0), host);
  EXPECT_EQ(status, 0);
}

TEST_F(FaultyCompiler, IsNotForAForkedChild) {
  BuildWorker& tried = worker("");
  ASSERT_TRUE(tried.build(ask(1), plenty));
  const pid_t child = ::fork();
  if (child == 0) {
    const auto built = tried.build(ask(2), plenty);
    ::_exit(!built && built.failure().kind == FailureKind::unsupported ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(tried.build(ask(3), plenty));
}

}  // namespace
}  // namespace heddle::device
