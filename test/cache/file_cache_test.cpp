// A cache of files: what comes out is what went in, or nothing.
#include "cache/file_cache.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/temporary_folder.hpp"

namespace heddle::cache {
namespace {

namespace fs = std::filesystem;

std::string binary(std::size_t size, int salt) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(salt));
  return out;
}

TEST(FileCache, GivesBackWhatWasStored) {
  TemporaryFolder folder;
  const FileCache cache("build", folder.path("below/build"), 1 << 20);
  EXPECT_FALSE(cache.load("key"));
  cache.store("key", binary(1000, 1));
  EXPECT_EQ(cache.load("key"), binary(1000, 1));
  cache.store("key", binary(500, 2));
  EXPECT_EQ(cache.load("key"), binary(500, 2));
  struct stat status {};
  stat(folder.path("below/build/key").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(FileCache, ADamagedFileIsAsGoodAsNone) {
  TemporaryFolder folder;
  const FileCache cache("build", folder.path(), 1 << 20);
  cache.store("key", binary(1000, 1));
  std::string all;
  {
    std::ifstream in(folder.path("key"), std::ios::binary);
    all.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (const std::string& bad : {all.substr(0, all.size() - 1), all + "x", std::string(), std::string("short"),
                                 all.substr(0, 100) + "?" + all.substr(101)}) {
    folder.write("key", bad);
    EXPECT_FALSE(cache.load("key")) << bad.size();
  }
  folder.write("key", all);
  EXPECT_TRUE(cache.load("key"));
}

TEST(FileCache, IsTrimmedOldestFirst) {
  TemporaryFolder folder;
  const FileCache cache("build", folder.path(), 3500);
  const auto now = fs::file_time_type::clock::now();
  for (int k = 0; k < 3; ++k) {
    cache.store("key" + std::to_string(k), binary(1000, k));
    fs::last_write_time(folder.path("key" + std::to_string(k)), now - std::chrono::hours(10 - k));
  }
  EXPECT_TRUE(cache.load("key0"));  // used now, so key1 is the oldest
  cache.store("key3", binary(1000, 3));
  EXPECT_TRUE(cache.load("key0"));
  EXPECT_FALSE(cache.load("key1"));
  EXPECT_TRUE(cache.load("key2"));
  EXPECT_TRUE(cache.load("key3"));
  cache.store("large", binary(5000, 4));  // larger than the limit: not kept, and nothing is lost for it
  EXPECT_FALSE(cache.load("large"));
  EXPECT_TRUE(cache.load("key3"));
}

TEST(FileCache, WhatIsNoFileIsNoEntry) {
  TemporaryFolder folder;
  const FileCache cache("build", folder.path(), 1 << 20);
  fs::create_directory(folder.path("folder"));
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  for (const char* key : {"folder", "pipe"}) EXPECT_FALSE(cache.load(key)) << key;
  cache.store("folder", binary(10, 1));
  EXPECT_FALSE(cache.load("folder"));
  cache.store("pipe", binary(10, 1));  // takes its place
  EXPECT_TRUE(cache.load("pipe"));
}

TEST(FileCache, ALimitOnFilesDoesNotEndTheProgram) {
  TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{500, 500};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const FileCache cache("build", folder.path(), 1 << 20);
    cache.store("large", binary(1000, 1));
    cache.store("small", binary(100, 1));
    ::_exit(!cache.load("large") && cache.load("small") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(FileCache, WithoutAFolderOrAPlaceToWriteNothingHappens) {
  const FileCache none("build", "", 1 << 20);
  none.store("key", binary(10, 1));
  EXPECT_FALSE(none.load("key"));
  TemporaryFolder folder;
  folder.write("file", "x");
  const FileCache below_a_file("build", folder.path("file/cache"), 1 << 20);
  below_a_file.store("key", binary(10, 1));
  EXPECT_FALSE(below_a_file.load("key"));
}

}  // namespace
}  // namespace heddle::cache
