// In which order a module's file is looked for, and that one with another build-id is never taken.
#include "analysis/symbols/file_search.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analysis/symbols/local_files.h"

namespace heaptap::symbols {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class FileSearchTest : public testing::Test {
 public:
  void SetUp() override {
    directory = fs::path(testing::TempDir()) / ("file_search." + std::to_string(getpid()));
    fs::remove_all(directory);
    fs::create_directories(directory);
    setenv("XDG_CACHE_HOME", (directory / "cache").c_str(), 1);
    const fs::path fixture = fs::path(SYMBOLS_FIXTURE_DIR) / "stripped.so";
    content = content_of(fixture);
    build_id = ElfFile::open(fixture)->build_id();
    other_build_id = build_id;
    other_build_id.back() = static_cast<char>(other_build_id.back() ^ 1);
    ASSERT_EQ(content.find(build_id), content.rfind(build_id));
  }
  void TearDown() override { fs::remove_all(directory); }

  // The file, or the same with another build-id.
  [[nodiscard]] std::string put(const fs::path& path, bool is_other = false) const {
    std::string bytes = content;
    if (is_other) bytes.replace(bytes.find(build_id), build_id.size(), other_build_id);
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  [[nodiscard]] fs::path cached() const { return directory / "cache/heaptap" / build_id_path(build_id); }

  [[nodiscard]] ResolverOptions options() const {
    return {.symbol_directories = {directory / "symbols1", directory / "symbols2"},
            .sysroots = {directory / "sys1", directory / "sys2"}};
  }
  [[nodiscard]] FoundModule find(const std::string& path) const {
    return FileSearch(options()).find_module(path, build_id);
  }
  // Where it is found; empty: nowhere.
  [[nodiscard]] std::string place_of(const std::string& path) const {
    const FoundModule found = find(path);
    return found.file ? found.file->path() : "";
  }

  fs::path directory;
  std::string content;
  std::string build_id;
  std::string other_build_id;
};

TEST_F(FileSearchTest, TheWholePathComesBeforeItsTails) {
  const std::string path = directory / "target/lib/it.so";
  // From the last place to the first.
  std::vector<std::string> places{
      put(cached()),
      put(directory / "sys2/usr/lib/debug" / (build_id_path(build_id) + ".debug")),
      put(directory / "sys1" / (build_id_path(build_id) + ".debug")),
      put(path),
      put(directory / "sys2/it.so"),
      put(directory / "sys2/lib/it.so"),
      put(directory.string() + "/sys2" + path),
      put(directory / "sys1/it.so"),
      put(directory / "symbols2/it.so"),
      put(directory / "symbols1/it.so"),
      put(directory / "symbols1/target/lib/it.so"),
      put(directory.string() + "/symbols1" + path),
  };
  while (!places.empty()) {
    EXPECT_EQ(fs::weakly_canonical(place_of(path)), fs::weakly_canonical(places.back()));
    fs::remove(places.back());
    places.pop_back();
  }
  EXPECT_EQ(place_of(path), "");
}

TEST_F(FileSearchTest, AnotherBuildIsPassedOver) {
  const std::string path = directory / "target/lib/it.so";
  const std::string first = put(directory / "symbols1/it.so", true);
  (void)put(directory / "sys1/it.so", true);
  (void)put(path, true);
  (void)put(directory / "symbols2" / build_id_path(build_id), true);
  (void)put(cached(), true);
  const FoundModule none = find(path);
  EXPECT_FALSE(none.file.has_value());
  ASSERT_TRUE(none.other.has_value());
  EXPECT_EQ(none.other->path, first);  // one is told of
  EXPECT_EQ(none.other->build_id, other_build_id);
  const std::string right = put(directory / "sys2/it.so");
  EXPECT_EQ(place_of(path), right);
}

TEST_F(FileSearchTest, WithoutABuildIdThePathSays) {
  const std::string path = put(directory / "target/lib/it.so", true);
  FileSearch search(options());
  ASSERT_TRUE(search.find_module(path, "").file.has_value());
  // One that was deleted is no more what is at its path now.
  EXPECT_FALSE(search.find_module(path + " (deleted)", "").file.has_value());
}

TEST_F(FileSearchTest, ADeletedFileIsFoundByItsBuildId) {
  const std::string path = put(directory / "target/lib/it.so");
  EXPECT_EQ(place_of(path + " (deleted)"), path);
}

TEST_F(FileSearchTest, WhatIsNoFileIsNoHindrance) {
  fs::create_directories(directory / "symbols1/it.so");
  std::ofstream(directory / "symbols2") << "no directory";
  std::ofstream(directory / "sys1") << "";
  const std::string right = put(directory / "sys2/it.so");
  EXPECT_EQ(place_of("/none/it.so"), right);
}

TEST_F(FileSearchTest, WhetherAFileIsHereIsKnownBeforehand) {
  model::Module module;
  module.path = "/none/it.so";
  module.build_id = build_id;
  EXPECT_FALSE(has_file(options(), module));
  (void)put(directory / "sys2/it.so", true);
  EXPECT_FALSE(has_file(options(), module));
  const std::string in_cache = put(cached());
  EXPECT_TRUE(has_file({}, module));
  fs::remove(in_cache);
  (void)put(directory / "sys2" / build_id_path(build_id));
  EXPECT_TRUE(has_file(options(), module));
  EXPECT_FALSE(has_file({}, module));
}

TEST_F(FileSearchTest, WhatIsUsedOfTheCacheStaysLonger) {
  const std::string file = put(cached());
  const timespec long_ago{.tv_sec = 1'000'000, .tv_nsec = 0};
  const timespec times[2] = {long_ago, long_ago};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  EXPECT_EQ(place_of("/none/it.so"), file);
  struct stat status{};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_GT(status.st_mtim.tv_sec, 1'000'000);
}

}  // namespace
}  // namespace heaptap::symbols
