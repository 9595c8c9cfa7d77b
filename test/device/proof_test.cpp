// Drivers that crash, hang or compute wrong are left out with one line, and that is remembered; good ones are used.
#include "device/proof.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "core/log.hpp"
#include "device/trial.hpp"
#include "test/device/any_device.hpp"
#include "test/temporary_folder.hpp"

namespace heddle::device {
namespace {

TEST(Verdict, IsReadFromWhatTheProgramSaid) {
  const Verdict good =
      read_verdict("trying\ta, b 1\nright\ta, b 1\ntrying\tc, b 1\nfailed\tc, b 1: clX: error 1\ndone\n");
  EXPECT_EQ(good.devices, (std::vector<std::string>{"a, b 1", "c, b 1"}));
  EXPECT_EQ(good.objection, "");
  EXPECT_TRUE(good.conclusive);
  EXPECT_EQ(read_verdict("none\tno device\ndone\n").objection, "");
  EXPECT_EQ(read_verdict("crashed\tSIGSEGV\n").objection, "it crashed (SIGSEGV) before any kernel ran");
  EXPECT_EQ(read_verdict("trying\ta\ncrashed\tSIGILL\n").objection, "a tiny kernel on a crashed (SIGILL)");
  EXPECT_EQ(read_verdict("trying\ta\nright\ta\ntrying\tb\nhung\t10 s\n").objection,
            "a tiny kernel on b did not end within 10 s");
  EXPECT_EQ(read_verdict("trying\ta\nexited\texit code 1\n").objection,
            "a tiny kernel on a ended its process (exit code 1)");
  EXPECT_EQ(read_verdict("trying\ta\nwrong\ta: 1 instead of 2\ndone\n").objection,
            "a tiny kernel computed wrong on a: 1 instead of 2");
  for (const char* said : {"", "trying\ta\n", "trying\ta\nkilled\tSIGKILL\n"}) {
    EXPECT_FALSE(read_verdict(said).conclusive) << said;
    EXPECT_EQ(read_verdict(said).objection, "") << said;
  }
}

// A driver of its own for each test, which does in other processes what a script says.
class FaultyDriver : public testing::Test {
 protected:
  FaultyDriver() : library_(folder_.path("libfaulty.so")) {
    std::filesystem::copy_file(HEDDLE_FAULTY_DRIVER, library_);
    std::filesystem::create_directory(folder_.path("vendors"));
    folder_.write("vendors/faulty.icd", library_);
    before_ = core::set_log_sink([](core::LogLevel, std::string_view) {});
  }
  ~FaultyDriver() override {
    ::unsetenv("FAULTY_SCRIPT");
    core::set_log_sink(before_);
  }
  void SetUp() override {
    if (!std::ifstream("/etc/OpenCL/vendors/pocl.icd")) GTEST_SKIP() << "no PoCL";
  }

  static void script(const char* text) { ::setenv("FAULTY_SCRIPT", text, 1); }

  Machine open(const std::string& prove = "on", bool cached = true) {
    core::Settings settings = test_settings("all", cached ? folder_.path("cache") : "");
    settings.prove = prove;
    return open_machine(settings, [&](const std::string& name) {
      return name == "OCL_ICD_VENDORS" ? std::optional(folder_.path("vendors")) : std::nullopt;
    });
  }
  void expect_aside(const Machine& machine, const std::string& how) {
    EXPECT_TRUE(machine.devices.empty());
    ASSERT_EQ(machine.problems.size(), 1u);
    const std::string& line = machine.problems.front();
    EXPECT_EQ(line.rfind("OpenCL driver " + library_ + " is set aside: ", 0), 0u) << line;
    EXPECT_NE(line.find(how), std::string::npos) << line;
    EXPECT_NE(line.find("HEDDLE_PROVE=again"), std::string::npos) << line;
  }

  TemporaryFolder folder_;
  std::string library_;
  core::LogSink before_;
};

TEST_F(FaultyDriver, ThatCrashesIsLeftOutUntilItIsTriedAgain) {
  script("build 1 crash");
  expect_aside(open(), "crashed (SIGILL)");
  script("");
  expect_aside(open(), "crashed (SIGILL)");  // remembered
  const Machine again = open("again");
  EXPECT_EQ(again.devices.size(), 1u);
  EXPECT_TRUE(again.problems.empty());
  script("build 1 crash");
  EXPECT_EQ(open().devices.size(), 1u);  // remembered, too
}

TEST_F(FaultyDriver, ThatHangsIsLeftOut) {
  script("launch 1 hang");
  expect_aside(open(), "did not end within 10 s");
}

TEST_F(FaultyDriver, ThatComputesWrongIsLeftOut) {
  script("launch 1 nothing");
  expect_aside(open(), "computed wrong");
}

TEST_F(FaultyDriver, ThatOnlyReturnsErrorsIsUsed) {
  script("launch 1 -5");
  EXPECT_EQ(open().devices.size(), 1u);
}

TEST_F(FaultyDriver, IsProvenAgainWhenItsFileChanges) {
  script("build 1 crash");
  expect_aside(open(), "crashed (SIGILL)");
  script("");
  std::filesystem::last_write_time(library_, std::filesystem::last_write_time(library_) + std::chrono::seconds(5));
  EXPECT_EQ(open().devices.size(), 1u);
}

TEST_F(FaultyDriver, IsProvenAgainWhenItShowsAnotherDevice) {
  Proofs proofs(test_settings("all", folder_.path("cache")), process_environment);
  EXPECT_EQ(proofs.objection(library_), "");
  const std::string known = described(open().devices.front()->info());
  script("build 1 crash");
  EXPECT_EQ(proofs.objection(library_, {known}), "");
  EXPECT_NE(proofs.objection(library_, {known, "another"}), "");
}

TEST_F(FaultyDriver, IsTrustedUnprovenWhereNothingIsKeptOrTheUserSaysSo) {
  script("build 1 crash");
  EXPECT_EQ(open("on", false).devices.size(), 1u);
  EXPECT_EQ(open("off").devices.size(), 1u);
  EXPECT_THROW(open("perhaps"), core::UsageError);
}

TEST_F(FaultyDriver, LeavesOthersInUse) {
  script("build 1 crash");
  std::filesystem::copy_file("/etc/OpenCL/vendors/pocl.icd", folder_.path("vendors/pocl.icd"));
  const Machine machine = open();
  ASSERT_EQ(machine.devices.size(), 1u);
  EXPECT_EQ(machine.devices.front()->info().id, "cpu");
  EXPECT_EQ(machine.problems.size(), 1u);
}

TEST_F(FaultyDriver, IsTriedUnseenByTheHost) {
  static volatile int signals = 0;
  auto* handler = ::signal(SIGCHLD, [](int) { signals = signals + 1; });
  script("build 1 crash");
  open();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(signals, 0);
  ::signal(SIGCHLD, handler);
}

}  // namespace
}  // namespace heddle::device
