#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "common/wire/frame.h"
#include "common/wire/functions.h"
#include "common/wire/log.h"
#include "common/wire/varint.h"

namespace heaptap::wire {
namespace {

std::vector<uint8_t> varint_of(uint64_t value) {
  std::vector<uint8_t> bytes(kMaxVarintBytes);
  bytes.resize(static_cast<size_t>(write_varint(bytes.data(), value) - bytes.data()));
  return bytes;
}

// Values at which a number of bits or bytes changes, and some at random.
std::vector<uint64_t> interesting_values() {
  std::vector<uint64_t> values;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    values.insert(values.end(), {power - 1, power, power + 1, ~power});
  }
  values.push_back(UINT64_MAX);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) values.push_back(random() >> (random() % 64));
  return values;
}

TEST(Varint, GivesBackWhatWasWritten) {
  for (const uint64_t value : interesting_values()) {
    const std::vector<uint8_t> bytes = varint_of(value);
    VarintReader reader(bytes.data(), bytes.size());
    EXPECT_EQ(reader.varint(), value);
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(Varint, TakesAByteForEverySevenBits) {
  EXPECT_EQ(varint_of(0).size(), 1u);
  EXPECT_EQ(varint_of(127).size(), 1u);
  EXPECT_EQ(varint_of(128).size(), 2u);
  EXPECT_EQ(varint_of(UINT64_MAX).size(), kMaxVarintBytes);
}

TEST(Varint, LengthIsFollowedByThatManyBytes) {
  const uint8_t bytes[] = {3, 'a', 'b', 'c', 0, 2, 'd'};
  VarintReader reader(bytes, sizeof(bytes));
  const std::span<const uint8_t> first = reader.sized_bytes();
  EXPECT_EQ(first.data(), bytes + 1);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_TRUE(reader.sized_bytes().empty());
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.sized_bytes().empty());  // there is one byte, not two
  EXPECT_FALSE(reader.ok());
}

TEST(Varint, LengthThatOnlyFitsIntoManyBitsFails) {
  for (const uint64_t length : {uint64_t{1} << 32, (uint64_t{1} << 32) + 1, UINT64_MAX}) {
    std::vector<uint8_t> bytes = varint_of(length);
    bytes.resize(bytes.size() + 8);
    VarintReader text(bytes.data(), bytes.size());
    EXPECT_TRUE(text.sized_bytes().empty());
    EXPECT_FALSE(text.ok());
    VarintReader entries(bytes.data(), bytes.size());
    EXPECT_EQ(entries.entry_count(1), 0u);
    EXPECT_FALSE(entries.ok());
  }
}

TEST(Varint, EntriesHaveToFitIntoWhatIsLeft) {
  const uint8_t bytes[] = {3, 0, 0, 0, 0, 0, 0};
  VarintReader two(bytes, sizeof(bytes));
  EXPECT_EQ(two.entry_count(2), 3u);
  EXPECT_TRUE(two.ok());
  VarintReader three(bytes, sizeof(bytes));
  EXPECT_EQ(three.entry_count(3), 0u);
  EXPECT_FALSE(three.ok());
}

TEST(Varint, CutShortFailsForGood) {
  for (const uint64_t value : {uint64_t{128}, uint64_t{1} << 40, UINT64_MAX}) {
    std::vector<uint8_t> bytes = varint_of(value);
    for (size_t kept = 0; kept < bytes.size(); ++kept) {
      VarintReader reader(bytes.data(), kept);
      EXPECT_EQ(reader.varint(), 0u);
      EXPECT_FALSE(reader.ok());
      EXPECT_TRUE(reader.at_end());
      EXPECT_EQ(reader.varint(), 0u);
    }
  }
}

TEST(Varint, OfMoreThan64BitsFails) {
  const std::vector<uint8_t> most(9, 0xff);
  for (const uint8_t last : {uint8_t{0x02}, uint8_t{0x7f}, uint8_t{0x81}, uint8_t{0xff}}) {
    std::vector<uint8_t> bytes = most;
    bytes.push_back(last);
    bytes.push_back(0);
    VarintReader reader(bytes.data(), bytes.size());
    EXPECT_EQ(reader.varint(), 0u);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(Varint, SmallNumbersOfEitherSignStaySmall) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  EXPECT_EQ(zigzag(INT64_MIN), UINT64_MAX);
  for (const uint64_t value : interesting_values()) {
    EXPECT_EQ(unzigzag(zigzag(static_cast<int64_t>(value))), static_cast<int64_t>(value));
  }
}

TEST(Varint, BytesAreGivenOnlyWhereThereAreEnough) {
  const uint8_t data[] = {1, 2, 3};
  VarintReader reader(data, sizeof(data));
  EXPECT_EQ(reader.bytes(2), data);
  EXPECT_EQ(reader.left(), 1u);
  EXPECT_EQ(reader.bytes(2), nullptr);
  EXPECT_FALSE(reader.ok());
  VarintReader other(data, sizeof(data));
  EXPECT_EQ(other.bytes(UINT64_MAX), nullptr);
  EXPECT_FALSE(other.ok());
}

TEST(Crc32c, MatchesPublishedVectors) {
  const auto of = [](std::string_view text) {
    return crc32c(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  EXPECT_EQ(of(""), 0u);
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  // RFC 3720, B.4
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  EXPECT_EQ(of(ascending), 0x46dd794eu);
  EXPECT_EQ(of(std::string(ascending.rbegin(), ascending.rend())), 0x113fdb5cu);
}

TEST(Crc32c, GoesOnWhereItStopped) {
  std::mt19937 random(2);
  std::vector<uint8_t> data(100);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  const uint32_t whole = crc32c(data.data(), data.size());
  for (size_t cut = 0; cut <= data.size(); ++cut) {
    EXPECT_EQ(crc32c(data.data() + cut, data.size() - cut, crc32c(data.data(), cut)), whole);
  }
}

TEST(FixedNumbers, AreLittleEndian) {
  uint8_t bytes[8];
  put_u64(bytes, 0x0102030405060708);
  EXPECT_EQ(bytes[0], 8);
  EXPECT_EQ(bytes[7], 1);
  EXPECT_EQ(get_u64(bytes), 0x0102030405060708u);
  EXPECT_EQ(get_u32(bytes), 0x05060708u);
}

class FrameTest : public ::testing::Test {
 protected:
  FrameTest() { write_frame_head(head_bytes_, {FrameType::kEvents, Codec::kZstd, 20, 1000, 77, 0}, payload_.data()); }

  std::vector<uint8_t> payload_ = std::vector<uint8_t>(20, 0x5a);
  uint8_t head_bytes_[kFrameHeadBytes]{};
};

TEST_F(FrameTest, HeadGivesBackWhatWasWritten) {
  FrameHead head;
  ASSERT_TRUE(read_frame_head(head_bytes_, head));
  EXPECT_EQ(head.type, FrameType::kEvents);
  EXPECT_EQ(head.codec, Codec::kZstd);
  EXPECT_EQ(head.stored_bytes, 20u);
  EXPECT_EQ(head.raw_bytes, 1000u);
  EXPECT_EQ(head.number, 77u);
  EXPECT_TRUE(checksum_matches(head_bytes_, head, payload_.data()));
}

TEST_F(FrameTest, EveryFlippedBitOfHeadAndPayloadIsNoticed) {
  const auto is_sound = [this] {
    FrameHead head;
    return read_frame_head(head_bytes_, head) && head.stored_bytes <= payload_.size() &&
           checksum_matches(head_bytes_, head, payload_.data());
  };
  for (size_t bit = 0; bit < kFrameHeadBytes * 8; ++bit) {
    head_bytes_[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_FALSE(is_sound()) << "bit " << bit << " of the head";
    head_bytes_[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  for (size_t bit = 0; bit < payload_.size() * 8; ++bit) {
    payload_[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_FALSE(is_sound()) << "bit " << bit << " of the payload";
    payload_[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  EXPECT_TRUE(is_sound());
}

TEST_F(FrameTest, SizesBeyondTheBoundAreRefused) {
  FrameHead head;
  for (const size_t field : {size_t{8}, size_t{12}}) {
    const uint32_t before = get_u32(head_bytes_ + field);
    put_u32(head_bytes_ + field, kMaxFrameBytes + 1);
    EXPECT_FALSE(read_frame_head(head_bytes_, head));
    put_u32(head_bytes_ + field, before);
  }
}

TEST(LogWords, GiveBackTheirParts) {
  const uint64_t what = make_tagged_address(RecordKind::kAllocate, 17, 0x7fff'1234'5678);
  EXPECT_EQ(record_kind(what), RecordKind::kAllocate);
  EXPECT_EQ(record_function(what), 17);
  EXPECT_EQ(record_address(what), 0x7fff'1234'5678u);
  EXPECT_EQ(record_address(make_tagged_address(RecordKind::kRelease, 0, UINT64_MAX)), kCodeAddressMask);
  const uint64_t node = make_node(12, 34);
  EXPECT_EQ(node_parent(node), 12u);
  EXPECT_EQ(node_code(node), 34u);
  const uint64_t code = 0x7fff'1234'5678 | uint64_t{5} << 48 | kCodeExact;
  EXPECT_EQ(code_address(code), 0x7fff'1234'5678u);
  EXPECT_EQ(code_generation(code), 5u);
}

TEST(LogWords, UnknownKindsHaveNoSize) {
  for (unsigned kind = 0; kind < 256; ++kind) {
    const bool known = kind >= 1 && kind <= 10;
    EXPECT_EQ(record_bytes(static_cast<RecordKind>(kind)) != 0, known) << kind;
  }
}

TEST(Functions, UnknownNumbersHaveTheFactsOfNone) {
  EXPECT_STREQ(facts_of(Function::kMalloc).name, "malloc");
  for (unsigned number = kFunctionCount; number < 256; ++number) {
    EXPECT_EQ(facts_of(static_cast<Function>(number)).role, Role::kNone);
  }
}

// Numbers on the wire: lines of functions.def are only added at the end.
TEST(Functions, KeepTheirNumbers) {
  EXPECT_EQ(static_cast<int>(Function::kMalloc), 1);
  EXPECT_EQ(static_cast<int>(Function::kFree), 5);
  EXPECT_EQ(static_cast<int>(Function::kNew), 14);
  EXPECT_EQ(static_cast<int>(Function::kDelete), 22);
  EXPECT_EQ(static_cast<int>(Function::kMmap), 34);
  EXPECT_EQ(static_cast<int>(Function::kMremap), 37);
}

}  // namespace
}  // namespace heaptap::wire
