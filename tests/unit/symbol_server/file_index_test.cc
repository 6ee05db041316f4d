// Directories with an ELF file (this test itself) in all the places that there are, and in those from where nothing may be given.
#include "analysis/symbol_server/file_index.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "capture/elf/object_file.h"

namespace heaptap::symbol_server {
namespace {

namespace fs = std::filesystem;
using Clock = FileIndex::Clock;

std::string build_id_of(const fs::path& path) {
  const base::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto id = elf::read_build_id(elf::FileBytes(file.get()));
  return {id.begin(), id.end()};
}

class FileIndexTest : public ::testing::Test {
 protected:
  FileIndexTest() {
    std::string name = "/tmp/heaptap-test-XXXXXX";
    root_ = mkdtemp(name.data());
    fs::create_directories(root_ / "given/deep/er");
    fs::create_directories(root_ / "secret");
    own_id_ = build_id_of("/proc/self/exe");
  }
  ~FileIndexTest() override { fs::remove_all(root_); }

  void put(const std::string& where) const { fs::copy_file("/proc/self/exe", root_ / where); }
  [[nodiscard]] Directories directories() const { return *Directories::open({(root_ / "given").string()}); }
  FileIndex index() {
    return FileIndex(directories(), [this] { return now_; });
  }

  fs::path root_;
  std::string own_id_;
  Clock::time_point now_;
};

TEST_F(FileIndexTest, FilesAreFoundByTheirBuildIdWhereverTheyAre) {
  ASSERT_FALSE(own_id_.empty());
  put("given/deep/er/program");
  FileIndex index = this->index();
  EXPECT_EQ(index.file_count(), 1u);
  const auto files = index.files_of(own_id_);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(index.files_of("unknown").empty());
  EXPECT_TRUE(index.files_of("").empty());
}

TEST_F(FileIndexTest, NothingIsOpenedThatIsNotBeneath) {
  put("secret/program");
  fs::create_symlink(root_ / "secret", root_ / "given/link");
  fs::create_symlink(root_ / "secret/program", root_ / "given/program");
  fs::create_symlink("../secret/program", root_ / "given/relative");
  ASSERT_EQ(mkfifo((root_ / "given/fifo").c_str(), 0600), 0);
  FileIndex index = this->index();
  EXPECT_EQ(index.file_count(), 0u);
  EXPECT_TRUE(index.files_of(own_id_).empty());
  const Directories directories = this->directories();
  put("given/deep/real");
  EXPECT_TRUE(directories.open_file({0, "deep/real"}));
  const base::UniqueFd directory(open((root_ / "given").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  EXPECT_TRUE(open_part_by_part(directory.get(), "deep/real", kFlags));
  for (const std::string path :
       {"../secret/program", "deep/../../secret/program", "link/program", "program", "relative", "/etc/passwd", "",
        "deep", "fifo", "./deep/real", "deep//real", "deep/real/"}) {
    EXPECT_FALSE(directories.open_file({0, path})) << path;
    // What it opens without a check of its kind is beneath at least.
    const bool may_open = path.empty() || path == "deep" || path == "fifo";
    if (!may_open) {
      EXPECT_FALSE(open_part_by_part(directory.get(), path, kFlags)) << path;
    }
  }
  EXPECT_FALSE(directories.open_file({1, "deep/real"}));
}

TEST_F(FileIndexTest, AFileThatBecomesALinkIsNotFollowed) {
  put("given/program");
  put("secret/program");
  FileIndex index = this->index();
  ASSERT_EQ(index.files_of(own_id_).size(), 1u);
  fs::remove(root_ / "given/program");
  fs::create_symlink(root_ / "secret/program", root_ / "given/program");
  EXPECT_TRUE(index.files_of(own_id_).empty());
}

TEST_F(FileIndexTest, LooksAgainWhenADirectoryHasChangedAndNotTooOften) {
  FileIndex index = this->index();
  EXPECT_EQ(index.looks(), 1u);
  now_ += std::chrono::hours(1);
  EXPECT_TRUE(index.files_of(own_id_).empty());
  EXPECT_EQ(index.looks(), 1u) << "nothing has changed";
  put("given/deep/program");
  EXPECT_TRUE(index.files_of(own_id_).empty()) << "it has looked just now";
  now_ += std::chrono::hours(1);
  EXPECT_EQ(index.files_of(own_id_).size(), 1u);
  EXPECT_EQ(index.looks(), 2u);
  now_ += std::chrono::hours(1);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(index.files_of("unknown").empty());
  EXPECT_EQ(index.looks(), 2u);
}

TEST_F(FileIndexTest, ADirectoryThatIsntThereIsAnError) {
  EXPECT_FALSE(Directories::open({(root_ / "nowhere").string()}));
  put("given/program");
  EXPECT_FALSE(Directories::open({(root_ / "given/program").string()}));
}

}  // namespace
}  // namespace heaptap::symbol_server
