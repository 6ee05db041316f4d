// A recording as a file: what is read is what was written, as far as it is there, whatever became of the file.
#include "capture/uplink/recording_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "common/line/line_messages.h"
#include "record/remote/line_to_target.h"

namespace heaptap::uplink {
namespace {

using line::Field;
using line::Kind;
using message::Message;

class RecordingFileTest : public testing::Test {
 protected:
  RecordingFileTest() {
    std::string directory = testing::TempDir() + "recording-file-XXXXXX";
    path_ = std::string(mkdtemp(directory.data())) + "/far";
  }
  ~RecordingFileTest() override {
    unlink(path_.c_str());
    rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }

  static Message message(message::Number kind, const std::string& bytes) {
    Message made{.kind = kind, .number = 0, .fields = {}};
    made.fields.add(Field::kBytes, bytes);
    return made;
  }
  void write(const std::vector<Message>& messages) {
    auto file = RecordingFile::create(path_, true);
    ASSERT_TRUE(file.has_value());
    for (const Message& each : messages) file->send(each);
    EXPECT_FALSE(file->failure().has_value());
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  std::string path_;
};

TEST_F(RecordingFileTest, IsReadAsItWasWritten) {
  const std::string large(200'000, 'x');
  write({message(Kind::kRecording, "one"), message(Kind::kBytes, large), message(Kind::kAllEnded, "")});
  auto reader = RecordingFileReader::open(path_);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->next()->kind, Kind::kRecording);
  EXPECT_EQ(reader->next()->fields.text(Field::kBytes), large);
  EXPECT_EQ(reader->next()->kind, Kind::kAllEnded);
  EXPECT_FALSE(reader->next().has_value());
  EXPECT_EQ(reader->why_over(), "");
}

TEST_F(RecordingFileTest, AsALineItSaysWhetherTheRecordingsEndIsInIt) {
  for (const bool is_whole : {true, false}) {
    std::vector<Message> messages{message(Kind::kRecording, "one")};
    if (is_whole) messages.push_back(message(Kind::kAllEnded, ""));
    write(messages);
    auto reader = RecordingFileReader::open(path_);
    ASSERT_TRUE(reader.has_value());
    remote::LineToTarget line("far", *std::move(reader));
    EXPECT_TRUE(line.is_file());
    line.proceed({});
    EXPECT_TRUE(line.is_over());
    EXPECT_EQ(line.why_over(), is_whole ? "" : "it ends before the recording did");
  }
}

TEST_F(RecordingFileTest, IsItsUsersAlone) {
  write({});
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(RecordingFileTest, DoesntReplaceWhatIsThere) {
  put("precious");
  EXPECT_FALSE(RecordingFile::create(path_, false).has_value());
  EXPECT_EQ(contents(), "precious");
  EXPECT_FALSE(RecordingFile::create("/dev/null", true).has_value());
  EXPECT_EQ(access("/dev/null", F_OK), 0);
}

TEST_F(RecordingFileTest, CutAnywhereGivesWhatIsWhole) {
  write({message(Kind::kRecording, "one"), message(Kind::kBytes, "two"), message(Kind::kAllEnded, "three")});
  const std::string whole = contents();
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    auto reader = RecordingFileReader::open(path_);
    if (!reader) continue;
    size_t count = 0;
    while (reader->next()) ++count;
    EXPECT_LE(count, 2u);
    EXPECT_GE(count, most);
    most = count;
  }
  EXPECT_EQ(most, 2u);
}

TEST_F(RecordingFileTest, DamageIsTold) {
  write({message(Kind::kRecording, "one"), message(Kind::kBytes, std::string(3000, 'y'))});
  const std::string whole = contents();
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
    put(damaged);
    auto reader = RecordingFileReader::open(path_);
    if (!reader) continue;
    size_t count = 0;
    while (reader->next()) ASSERT_LT(++count, whole.size());
  }
}

TEST_F(RecordingFileTest, OtherFilesAreRefused) {
  for (const std::string bytes : {"", "HTAPFAR", "HTAPFAR\n", "HTAPRAW\nxxxxxxxxxx"}) {
    put(bytes);
    EXPECT_FALSE(RecordingFileReader::open(path_).has_value()) << bytes;
  }
  EXPECT_FALSE(RecordingFileReader::open(path_ + ".none").has_value());
}

TEST_F(RecordingFileTest, NoSpaceIsToldAndWhatWasWrittenHolds) {
  const auto fill = [&] {
    auto file = RecordingFile::create(path_, true);
    if (!file) return;
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 10; ++i) file->send(message(Kind::kBytes, std::string(1000, 'z')));
    _exit(file->failure() && file->is_given_up() ? 3 : 4);
  };
  EXPECT_EXIT(fill(), testing::ExitedWithCode(3), "");
  auto reader = RecordingFileReader::open(path_);
  ASSERT_TRUE(reader.has_value());
  size_t count = 0;
  while (reader->next()) ++count;
  EXPECT_GE(count, 1u);
  EXPECT_LT(count, 10u);
  EXPECT_EQ(reader->why_over(), "");
}

}  // namespace
}  // namespace heaptap::uplink
