// A run goes on where it ended, and never with another run's file.
#include "profile/progress.hpp"

#include <cmath>
#include <filesystem>

#include "core/errors.hpp"
#include "place.hpp"

namespace heddle::profile {
namespace {

const Tried measured{
    .configuration = {{{"Z", std::int64_t{8}}, {"A", 2.0}, {"F", true}, {"N", std::string("x \"y\"\n")}}},
    .ms = 0.1 + 0.2,
    .build_ms = 31.5,
    .seconds_since_epoch = 1703238828};
const Tried failed{
    .configuration = {{{"Z", std::int64_t{4}}}}, .failure = "compile", .why = "line 3:\n\terror \xff", .build_ms = 2};

void expect_same(const Tried& a, const Tried& b) {
  EXPECT_EQ(a.configuration, b.configuration);
  EXPECT_TRUE(a.ms == b.ms || (std::isnan(a.ms) && std::isnan(b.ms)));
  EXPECT_EQ(a.failure, b.failure);
  EXPECT_EQ(a.build_ms, b.build_ms);
  EXPECT_EQ(a.seconds_since_epoch, b.seconds_since_epoch);
}

std::string refusal(const std::string& path, const std::string& id = "k on d") {
  try {
    ProgressFile file(path, id);
  } catch (const core::UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Progress, GoesOn) {
  const Folder folder;
  const std::string path = folder.at("p");
  {
    ProgressFile file(path, "k on d");
    EXPECT_TRUE(file.earlier().empty());
    file.append(measured);
    file.append(failed);
  }
  {
    ProgressFile file(path, "k on d");
    ASSERT_EQ(file.earlier().size(), 2u);
    expect_same(file.earlier()[0], measured);
    expect_same(file.earlier()[1], failed);
    EXPECT_EQ(file.earlier()[1].why, "line 3:\n\terror \xef\xbf\xbd");  // what is no UTF-8 is marked
    file.append({.configuration = {}, .ms = 1});                        // a kernel without parameters
  }
  ProgressFile file(path, "k on d");
  ASSERT_EQ(file.earlier().size(), 3u);
  EXPECT_EQ(file.earlier()[2].configuration, core::Configuration{});
  EXPECT_TRUE(file.skipped().empty());
}

// A crash may end the file after any byte: whole lines stay, the torn one goes, and the next one is whole again.
TEST(Progress, CutOffAnywhere) {
  const Folder folder;
  const std::string path = folder.at("p");
  {
    ProgressFile file(path, "k on d");
    file.append(measured);
    file.append(failed);
  }
  const std::string text = read_text(path);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    write_text(path, text.substr(0, size));
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n');
    const std::size_t whole = lines > 0 ? static_cast<std::size_t>(lines - 1) : 0;
    {
      ProgressFile file(path, "k on d");
      ASSERT_EQ(file.earlier().size(), whole) << size;
      EXPECT_TRUE(file.skipped().empty());
      file.append(failed);
    }
    ProgressFile file(path, "k on d");
    ASSERT_EQ(file.earlier().size(), whole + 1) << size;
    EXPECT_TRUE(file.skipped().empty());
    expect_same(file.earlier().back(), failed);
  }
}

TEST(Progress, OtherFilesAreRefusedAndStayAsTheyAre) {
  const Folder folder;
  const std::string path = folder.at("p");
  ProgressFile(path, "k on d").append(measured);
  const std::string before = read_text(path);
  EXPECT_EQ(refusal(path, "k on e"), path + " is of another tuning run: of 'k on d', not of 'k on e'");
  EXPECT_EQ(read_text(path), before);
  for (const std::string text : {"x", "a kernel\n", "{\"heddle_progress\":2,\"id\":\"k on d\"}\n", "{}\nabc"}) {
    write_text(path, text);
    EXPECT_NE(refusal(path).find("is no progress file of a tuning run: it begins with '"), std::string::npos) << text;
    EXPECT_EQ(read_text(path), text);
  }
  EXPECT_NE(refusal(folder.path).find("cannot be opened"), std::string::npos);
  EXPECT_NE(refusal(folder.at("none/p")).find("cannot be opened"), std::string::npos);
}

TEST(Progress, OneRunAtATime) {
  const Folder folder;
  const std::string path = folder.at("p");
  {
    ProgressFile file(path, "k on d");
    EXPECT_EQ(refusal(path), path + " is in use by another run");
  }
  EXPECT_EQ(refusal(path), "accepted");
}

TEST(Progress, SpoiltLinesAreSkippedAndNamed) {
  const Folder folder;
  const std::string path = folder.at("p");
  ProgressFile(path, "k on d").append(measured);
  const std::string good = read_text(path);
  const char* const lines[] = {"what?",
                               "{}",
                               R"({"configuration":{"A":1},"ms":1,"failure":"")",
                               R"({"configuration":{"A":1},"ms":-1,"failure":""})",
                               R"({"configuration":{"A":1},"ms":null,"failure":""})",
                               R"({"configuration":{"A":1},"ms":null,"failure":"odd"})",
                               R"({"configuration":{"A":[]},"ms":1,"failure":""})",
                               R"({"configuration":5,"ms":1,"failure":""})"};
  for (const std::string line : lines) {
    write_text(path, good + line + "\n" + R"({"configuration":{"A":1},"ms":2,"failure":""})" + "\n");
    const ProgressFile file(path, "k on d");
    ASSERT_EQ(file.earlier().size(), 2u) << line;
    EXPECT_EQ(file.earlier()[1].ms, 2);
    EXPECT_EQ(file.skipped(), std::vector<std::string>{"line 3: '" + line + "'"});
  }
}

TEST(Progress, WhatCouldNotBeReadBackIsOurBug) {
  const Folder folder;
  ProgressFile file(folder.at("p"), "k on d");
  const std::string before = read_text(folder.at("p"));
  EXPECT_THROW(file.append({.configuration = {}}), core::InternalError);
  EXPECT_THROW(file.append({.configuration = {}, .failure = "odd"}), core::InternalError);
  EXPECT_EQ(read_text(folder.at("p")), before);
}

}  // namespace
}  // namespace heddle::profile
