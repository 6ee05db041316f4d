// Frames in a file that is damaged, or was made to cost time.
#include "record/trace/frame_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace heaptap::trace {
namespace {

using Bytes = std::vector<uint8_t>;

class FrameReaderTest : public ::testing::Test {
 protected:
  FrameReaderTest() : file_(memfd_create("frames", MFD_CLOEXEC)) {}
  ~FrameReaderTest() override { close(file_); }
  FrameReaderTest(const FrameReaderTest&) = delete;
  FrameReaderTest& operator=(const FrameReaderTest&) = delete;

  // A frame as it is written, with a payload of this many bytes.
  static Bytes frame(uint32_t number, uint32_t payload_bytes) {
    Bytes bytes(wire::kFrameHeadBytes + payload_bytes, 'p');
    const wire::FrameHead head{
        .type = wire::FrameType::kEvents, .stored_bytes = payload_bytes, .raw_bytes = payload_bytes, .number = number};
    wire::write_frame_head(bytes.data(), head, bytes.data() + wire::kFrameHeadBytes);
    return bytes;
  }
  void append(const Bytes& bytes) {
    ASSERT_EQ(pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(size_)), static_cast<ssize_t>(bytes.size()));
    size_ += bytes.size();
  }
  [[nodiscard]] FrameReader reader() const { return {file_, size_}; }

  int file_;
  uint64_t size_ = 0;
};

TEST_F(FrameReaderTest, AFrameIsFoundWhereverItsHeadLies) {
  constexpr size_t kPiece = 1u << 16;  // that the search reads at once
  for (size_t before = kPiece - wire::kFrameHeadBytes - 2; before < kPiece + 2; ++before) {
    size_ = 0;
    append(Bytes(before, 'H'));
    append(frame(7, 100));
    append(Bytes(kPiece, 'H'));
    uint64_t offset = 0;
    ASSERT_TRUE(reader().find(0, 7, offset)) << before;
    EXPECT_EQ(offset, before);
    EXPECT_FALSE(reader().find(0, 8, offset)) << before;
    EXPECT_FALSE(reader().find(before + 1, 7, offset)) << before;
  }
}

TEST_F(FrameReaderTest, DamagedHeadsOnTheWayAreSkipped) {
  for (int i = 0; i < 3; ++i) {
    Bytes damaged = frame(9, 50);
    damaged.back() ^= 1;
    append(damaged);
  }
  append(frame(9, 50));
  uint64_t offset = 0;
  ASSERT_TRUE(reader().find(0, 9, offset));
  EXPECT_EQ(offset, size_ - wire::kFrameHeadBytes - 50);
}

// Each of the many heads says that all behind it is its payload.
TEST_F(FrameReaderTest, ASearchAmongHeadsThatWereMadeToBeReadEnds) {
  constexpr uint32_t kHeads = 1000;
  constexpr uint32_t kBytes = 1u << 20;
  for (uint32_t i = 0; i < kHeads; ++i) {
    Bytes head = frame(5, 0);
    wire::put_u32(head.data() + 8, kBytes);
    wire::put_u32(head.data() + 12, kBytes);
    append(head);
  }
  append(frame(5, kBytes));
  append(Bytes(kBytes, 0));
  uint64_t offset = 0;
  EXPECT_FALSE(reader().find(0, 5, offset)) << "a thousand times the file was read before the one that is whole";
  EXPECT_TRUE(reader().find(kHeads * wire::kFrameHeadBytes, 5, offset));
}

TEST_F(FrameReaderTest, AHeadBehindWhichTheFileEndsIsCutOff) {
  const Bytes whole = frame(3, 500);
  for (const size_t kept :
       std::array<size_t, 4>{1, wire::kFrameHeadBytes - 1, wire::kFrameHeadBytes, whole.size() - 1}) {
    size_ = 0;
    append({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)});
    FrameReader reader = this->reader();
    Frame read;
    EXPECT_FALSE(reader.read(0, read)) << kept;
    EXPECT_TRUE(reader.is_cut_off()) << kept;
    uint64_t offset = 0;
    EXPECT_FALSE(reader.find(0, 0, offset)) << kept;
    ASSERT_EQ(ftruncate(file_, 0), 0);
  }
}

}  // namespace
}  // namespace heaptap::trace
