// The cache of files that came from other machines: what is let in, who may read it, and what goes when it is full.
#include "analysis/symbols/file_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analysis/symbols/elf_file.h"

namespace heaptap::symbols {
namespace {

namespace fs = std::filesystem;

class FileCacheTest : public testing::Test {
 public:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("file_cache." + std::to_string(getpid()));
    fs::remove_all(directory);
    std::ifstream own("/proc/self/exe", std::ios::binary);
    std::ostringstream text;
    text << own.rdbuf();
    content = text.str();
    build_id = ElfFile::open("/proc/self/exe")->build_id();
    ASSERT_FALSE(build_id.empty());
  }
  void TearDown() override { fs::remove_all(directory); }

  [[nodiscard]] size_t count_files() const {
    size_t count = 0;
    for (const auto& each : fs::recursive_directory_iterator(directory)) count += each.is_regular_file() ? 1 : 0;
    return count;
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
  }
  // One of some size that was used last so long ago.
  static fs::path put(const fs::path& path, size_t bytes, time_t age_s) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
    const timespec when{.tv_sec = time(nullptr) - age_s, .tv_nsec = 0};
    const timespec times[2] = {when, when};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }

  fs::path directory;
  std::string content;
  std::string build_id;
};

TEST_F(FileCacheTest, AFileHasItsNameWhenItIsWhole) {
  const FileCache cache(directory / "a" / "b");
  auto file = cache.begin(build_id);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE(file->write(std::string_view(content).substr(0, 1000)).has_value());
  EXPECT_FALSE(fs::exists(cache.path_of(build_id)));
  ASSERT_TRUE(file->write(std::string_view(content).substr(1000)).has_value());
  ASSERT_TRUE(file->finish().has_value());
  EXPECT_EQ(count_files(), 1U);
  const auto kept = ElfFile::open(cache.path_of(build_id));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->build_id(), build_id);
  EXPECT_EQ(fs::file_size(cache.path_of(build_id)), content.size());
}

TEST_F(FileCacheTest, NobodyElseReadsIt) {
  const FileCache cache(directory / "a" / "b");
  auto file = cache.begin(build_id);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->write(content).has_value());
  ASSERT_TRUE(file->finish().has_value());
  const fs::path path = cache.path_of(build_id);
  EXPECT_EQ(mode_of(path), 0600U);
  for (fs::path parent = path.parent_path(); parent != directory.parent_path(); parent = parent.parent_path()) {
    EXPECT_EQ(mode_of(parent), 0700U) << parent;
  }
}

TEST_F(FileCacheTest, AnotherFileIsNotLetIn) {
  const FileCache cache(directory);
  std::string other = build_id;
  other.back() = static_cast<char>(other.back() ^ 1);
  for (const std::string& bytes : {content, content.substr(0, 100), std::string("no ELF"), std::string()}) {
    auto file = cache.begin(other);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write(bytes).has_value());
    EXPECT_FALSE(file->finish().has_value());
  }
  EXPECT_EQ(count_files(), 0U);
}

TEST_F(FileCacheTest, NothingIsLeftOfWhatWasGivenUp) {
  const FileCache cache(directory);
  {
    auto file = cache.begin(build_id);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE(file->write(content).has_value());
    NewCacheFile moved = *std::move(file);
    EXPECT_EQ(count_files(), 1U);
  }
  EXPECT_EQ(count_files(), 0U);
}

TEST_F(FileCacheTest, WhatWasNotUsedForLongGoesFirst) {
  const FileCache cache(directory, 250'000);
  const std::string used("\xaa\x01", 2);
  const fs::path oldest = put(cache.path_of(used), 100'000, 4000);
  const fs::path older = put(directory / ".build-id/bb/02", 100'000, 3000);
  const fs::path newer = put(directory / ".build-id/cc/03", 100'000, 2000);
  cache.note_use(used);
  cache.make_room();
  EXPECT_TRUE(fs::exists(oldest));
  EXPECT_FALSE(fs::exists(older));
  EXPECT_TRUE(fs::exists(newer));
}

TEST_F(FileCacheTest, TheLastFileStaysHoweverLargeItIs) {
  const FileCache cache(directory, 1000);
  const fs::path older = put(directory / ".build-id/bb/02", 10'000, 3000);
  const fs::path newer = put(directory / ".build-id/cc/03", 10'000, 2000);
  cache.make_room();
  EXPECT_FALSE(fs::exists(older));
  EXPECT_TRUE(fs::exists(newer));
}

TEST_F(FileCacheTest, WhatAKilledProgramLeftGoes) {
  const FileCache cache(directory);
  const fs::path left = put(directory / "fetched.abcdef", 10, 100'000);
  const fs::path written_now = put(directory / "fetched.ghijkl", 10, 10);
  const fs::path strange = put(directory / "notes", 10, 100'000);
  cache.make_room();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(written_now));
  EXPECT_TRUE(fs::exists(strange));
}

TEST_F(FileCacheTest, LiesWhereTheUserKeepsCaches) {
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(FileCache::of_user()->path_of("\xab\xcd"), "/somewhere/heaptap/.build-id/ab/cd");
  setenv("XDG_CACHE_HOME", "not/absolute", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(FileCache::of_user()->path_of("\xab\xcd"), "/home/me/.cache/heaptap/.build-id/ab/cd");
  unsetenv("HOME");
  EXPECT_FALSE(FileCache::of_user().has_value());
  if (!before.empty()) setenv("HOME", before.c_str(), 1);
  unsetenv("XDG_CACHE_HOME");
}

class FileCacheOwners : public FileCacheTest {
 public:
  void SetUp() override {
    FileCacheTest::SetUp();
    fs::create_directories(directory / "own" / "cache");
  }
  // What is told of it; empty: it is used.
  [[nodiscard]] static std::string told_of(const fs::path& path) {
    const auto checked = check_owners(path);
    return checked ? "" : checked.error().message;
  }
};

TEST_F(FileCacheOwners, OwnLinksAreFollowed) {
  fs::create_directory_symlink("own", directory / "relative");
  fs::create_directory_symlink(directory / "own/../relative/cache", directory / "absolute");
  EXPECT_EQ(told_of(directory / "absolute"), "");
  EXPECT_EQ(told_of(directory / "absolute/missing/too"), "");
  fs::create_directory_symlink("round", directory / "round");
  EXPECT_EQ(told_of(directory / "round"), (directory / "round").string() + " has too many links");
}

TEST_F(FileCacheOwners, NobodyElseMayWriteThere) {
  fs::create_directory_symlink(directory / "own/cache", directory / "link");
  fs::permissions(directory / "own", fs::perms(0777));
  const std::string told = "other users may write to " + (directory / "own").string();
  EXPECT_EQ(told_of(directory / "own/cache"), told);
  EXPECT_EQ(told_of(directory / "link"), told);
  EXPECT_FALSE(FileCache(directory / "link").begin(build_id).has_value());
  fs::permissions(directory / "own", fs::perms(01777));
  EXPECT_EQ(told_of(directory / "link"), "") << "as /tmp";
}

TEST_F(FileCacheOwners, LinksOfOtherUsersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link to another user";
  constexpr uid_t kOther = 12345;
  const fs::path theirs = directory / "theirs";
  fs::create_directory_symlink(directory / "own/cache", theirs);
  ASSERT_EQ(lchown(theirs.c_str(), kOther, kOther), 0);
  EXPECT_EQ(told_of(theirs), theirs.string() + " belongs to another user");
  fs::create_directory_symlink("theirs", directory / "link");
  EXPECT_EQ(told_of(directory / "link/below"), theirs.string() + " belongs to another user");
}

TEST_F(FileCacheOwners, AGroupOfTheOwnersOwnMayWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can choose a group";
  fs::permissions(directory / "own", fs::perms(0775));
  EXPECT_EQ(told_of(directory / "own"), "");
  ASSERT_EQ(chown((directory / "own").c_str(), 0, 12345), 0);
  EXPECT_EQ(told_of(directory / "own"), "other users may write to " + (directory / "own").string());
}

TEST_F(FileCacheTest, ADirectoryThatCannotBeMadeIsTold) {
  std::ofstream(directory) << "a file";
  const auto file = FileCache(directory / "below").begin(build_id);
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find(directory.string()), std::string::npos);
}

}  // namespace
}  // namespace heaptap::symbols
