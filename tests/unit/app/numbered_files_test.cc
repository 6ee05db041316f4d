#include "apps/heaptap/commands/numbered_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

class Numbered : public testing::Test {
 protected:
  Numbered() {
    std::string name = (fs::temp_directory_path() / "heaptap-numbered-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~Numbered() override { fs::remove_all(directory_); }

  void put(const std::string& name, const std::string& text) { std::ofstream(directory_ + "/" + name) << text; }
  std::string get(const std::string& name) {
    std::ifstream file(directory_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t count() { return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {})); }

  std::string directory_;
};

const auto fill = [](const report::Write& write) { write("new"); };

TEST_F(Numbered, GoOnBehindWhatIsThere) {
  put("app-1-2.memlog", "old");
  fs::create_symlink("nowhere", directory_ + "/app-1-3.memlog");
  NumberedFiles files(directory_, "app-1-", ".memlog");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(files.write_next(fill));
  EXPECT_EQ(get("app-1-1.memlog"), "new");
  EXPECT_EQ(get("app-1-2.memlog"), "old");
  EXPECT_EQ(get("app-1-4.memlog"), "new");
  EXPECT_EQ(get("app-1-5.memlog"), "new");
  EXPECT_EQ(files.written().size(), 3U);
}

TEST_F(Numbered, TakeNoNumberWhereTheyFail) {
  NumberedFiles files(directory_, "app-1-", ".txt");
  const auto failed = files.make_next([](NewFile& file) -> base::Result<> {
    file.write("half");
    return base::fail("no");
  });
  EXPECT_EQ(failed.error().message, "no");
  EXPECT_EQ(count(), 0U);
  EXPECT_TRUE(files.write_next(fill));
  EXPECT_EQ(get("app-1-1.txt"), "new");
}

TEST_F(Numbered, NeedADirectory) {
  NumberedFiles files(directory_ + "/nowhere", "app-1-", ".txt");
  EXPECT_FALSE(files.write_next(fill));
  EXPECT_TRUE(files.written().empty());
}

}  // namespace
}  // namespace heaptap::app
