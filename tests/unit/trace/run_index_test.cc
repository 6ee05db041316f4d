#include "record/trace/run_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace heaptap::trace {
namespace {

namespace fs = std::filesystem;

const std::vector<RunEntry> kEntries{{12, 1, "heaptap.sh.12.htap", "sh"}, {13, 12, "sub/a b%\n\xff.htap", ""}};

TEST(RunIndex, KeepsWhatIsWritten) {
  const std::string text = encode_run_index({kEntries[0], {13, 12, "a b%\n\xff.htap", "my tool", 2}});
  EXPECT_EQ(text, "heaptap-run 1\n12 1 heaptap.sh.12.htap sh 1\n13 12 a%20b%25%0A%FF.htap my%20tool 2\n");
  const auto read = decode_run_index(encode_run_index(kEntries));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kEntries);
}

TEST(RunIndex, PassesOverWhatALaterVersionAdds) {
  const auto read = decode_run_index("heaptap-run 1\n12 1 a.htap sh 1 more words\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (std::vector<RunEntry>{{12, 1, "a.htap", "sh"}}));
}

TEST(RunIndex, RefusesWhatIsDamaged) {
  for (const char* text : {"", "HEAPTAP\n", "heaptap-run 2\n1 1 a b\n", "heaptap-run 1\n", "heaptap-run 1\n1 1 a b",
                           "heaptap-run 1\n1 1\n", "heaptap-run 1\n1 1 \n", "heaptap-run 1\n-1 1 a b\n",
                           "heaptap-run 1\n4294967296 1 a b\n", "heaptap-run 1\n1 1 a%2 b\n",
                           "heaptap-run 1\n1 1 a%00 b\n", "heaptap-run 1\n1 1 a%zz b\n", "heaptap-run 1\n\n",
                           "heaptap-run 1\n1 1 a b 0\n", "heaptap-run 1\n1 1 a b first\n"}) {
    EXPECT_FALSE(decode_run_index(text)) << text;
  }
}

TEST(RunIndex, CountsTheProgramsOfAProcess) {
  const auto read =
      decode_run_index("heaptap-run 1\n12 1 c.htap c 3\n12 1 a.htap a 1\n13 12 x.htap x 1\n12 1 b.htap b 2\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(last_program_of(*read, 12)->trace, "c.htap");
  EXPECT_EQ(last_program_of(*read, 13)->trace, "x.htap");
  EXPECT_EQ(last_program_of(*read, 14), nullptr);
}

// As earlier versions wrote them: the last one first.
TEST(RunIndex, NumbersTheProgramsOfOneWithoutNumbers) {
  const auto read = decode_run_index("heaptap-run 1\n12 1 b.htap b\n12 1 a.htap a\n13 12 x.htap x\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read,
            (std::vector<RunEntry>{{12, 1, "b.htap", "b", 2}, {12, 1, "a.htap", "a", 1}, {13, 12, "x.htap", "x", 1}}));
}

class RunIndexFile : public testing::Test {
 protected:
  RunIndexFile() : directory_(fs::temp_directory_path() / ("run_index_" + std::to_string(getpid()))) {
    fs::create_directories(directory_ / "links");
  }
  ~RunIndexFile() override { fs::remove_all(directory_); }
  std::string write(const char* name, const std::string& text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return (directory_ / name).string();
  }
  const fs::path directory_;
};

TEST_F(RunIndexFile, NamesTheTracesBesideIt) {
  const std::string path = write("x.run.htap", encode_run_index(kEntries));
  EXPECT_TRUE(is_run_index(path));
  const auto read = read_run_index(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().trace, (directory_ / "heaptap.sh.12.htap").string());
}

TEST_F(RunIndexFile, NamesThemAlsoBehindALink) {
  write("x.run.htap", encode_run_index(kEntries));
  fs::create_symlink("x.run.htap", directory_ / "beside.htap");
  fs::create_symlink("../x.run.htap", directory_ / "links" / "far.htap");
  for (const fs::path& link : {directory_ / "beside.htap", directory_ / "links" / "far.htap"}) {
    const auto read = read_run_index(link.string());
    ASSERT_TRUE(read) << link;
    EXPECT_EQ(fs::weakly_canonical(read->front().trace), fs::weakly_canonical(directory_ / "heaptap.sh.12.htap"))
        << link;
  }
}

TEST_F(RunIndexFile, IsNoOtherFile) {
  EXPECT_FALSE(is_run_index(write("t.htap", "HEAPTAP\n....")));
  EXPECT_FALSE(is_run_index(write("e.htap", "")));
  EXPECT_FALSE(is_run_index(directory_.string()));
  EXPECT_FALSE(is_run_index((directory_ / "missing").string()));
}

}  // namespace
}  // namespace heaptap::trace
