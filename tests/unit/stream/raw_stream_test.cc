// The frames of a raw stream: over several connections, with some that are missing, packed or not.
#include "capture/stream/raw_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "capture/stream/frame_packing.h"
#include "common/model/capture.h"

namespace heaptap::stream {
namespace {

using wire::RawEvent;
using wire::RecordKind;

// Stacks of one frame each, every second one under a label as well.
class MadeTables : public AgentTables {
 public:
  static constexpr uint32_t kCodes = 1000;
  [[nodiscard]] uint32_t node_count() const override { return wire::kRootCount + 2 * kCodes; }
  [[nodiscard]] uint64_t node(uint32_t number) const override {
    const uint32_t index = number - wire::kRootCount;
    if (index % 2 == 0) return wire::make_node(0, index / 2);
    return wire::make_node(number - 1, wire::kLabelCode | (1 + index / 2 % 5));
  }
  [[nodiscard]] uint32_t code_count() const override { return kCodes; }
  [[nodiscard]] uint64_t code(uint32_t index) const override { return 0x1000 + index; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t number) const override {
    if (number == 5) return std::nullopt;  // it isn't written yet
    return model::Label{.parent = number - 1, .kind = wire::LabelKind::kTag, .name = "tag " + std::to_string(number)};
  }
};

// What a stack is, in words.
std::string words_of(const AgentTables& tables, uint32_t stack) {
  const LabelledStack named = split_label(tables, stack);
  std::string words;
  for (uint32_t at = named.label; at != wire::kNoLabel;) {
    const auto label = tables.label(at);
    if (!label) break;
    words += label->name + " ";
    at = label->parent;
  }
  for (uint32_t at = named.stack; at >= wire::kRootCount; at = wire::node_parent(tables.node(at))) {
    words += std::to_string(tables.code(wire::node_code(tables.node(at)))) + " ";
  }
  return words;
}

class RawStreamTest : public testing::Test {
 protected:
  // Of a program that calls from some places again and again, and from new ones.
  log::RawEvents events(unsigned count) {
    log::RawEvents made;
    for (unsigned i = 0; i < count; ++i) {
      const bool is_release = random_() % 2 == 0;
      const auto kind = is_release ? RecordKind::kRelease : RecordKind::kAllocate;
      const uint32_t stack = wire::kRootCount + static_cast<uint32_t>(random_() % 20 + sent_events_ / 50);
      time_ += random_() % 300;
      made.push_back({.time = time_,
                      .tagged_address = wire::make_tagged_address(kind, 1, 0x1000 + random_() % 100 * 16),
                      .size_bytes = is_release ? 0 : random_() % 3 * 8,
                      .stack = stack,
                      .thread = static_cast<uint32_t>(random_() % 2)});
      ++sent_events_;
    }
    return made;
  }
  // A drain: a module, a thread, events.
  void add(RawStreamWriter& writer, unsigned count = 200) {
    const log::RawEvents drained = events(count);
    ++drains_;
    writer.add_modules({{.path = "/lib/" + std::to_string(drains_), .build_id = "id"}});
    writer.add_threads({{.number = drains_, .kernel_id = 100 + drains_, .name = "t"}});
    writer.add_drain(drained, uint64_t{16} * count, state_, [](uint32_t) { return std::string(); });
    sent_.insert(sent_.end(), drained.begin(), drained.end());
  }
  void drain(ReceivedStream& stream) {
    while (!stream.state().is_empty) {
      stream.drain(received_, false);
      stream.take_modules(modules_);
      stream.take_threads(threads_);
    }
  }
  void expect_same(const ReceivedStream& stream, size_t from_sent, size_t from_received, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const RawEvent& a = sent_[from_sent + i];
      const RawEvent& b = received_[from_received + i];
      ASSERT_EQ(a.tagged_address, b.tagged_address) << i;
      ASSERT_EQ(a.size_bytes, b.size_bytes);
      ASSERT_EQ(a.thread, b.thread);
      ASSERT_EQ(a.time, b.time);
      ASSERT_EQ(words_of(tables_, a.stack), words_of(stream.tables(), b.stack));
    }
  }
  // In order, each once.
  void expect_all_tables() const {
    ASSERT_EQ(modules_.size(), drains_);
    ASSERT_EQ(threads_.size(), drains_);
    for (uint32_t i = 0; i < drains_; ++i) {
      EXPECT_EQ(modules_[i].path, "/lib/" + std::to_string(i + 1));
      EXPECT_EQ(threads_[i].number, i + 1);
    }
  }

  MadeTables tables_;
  StreamState state_{
      .start_ticks = 5, .complete_until = 7, .lost_events = 3};  // of a clock that isn't known: times are exact
  log::RawEvents sent_;
  log::RawEvents received_;
  std::vector<model::Module> modules_;
  std::vector<model::Thread> threads_;

 private:
  std::mt19937_64 random_{7};
  uint64_t sent_events_ = 0;
  uint64_t time_ = 1000;
  uint32_t drains_ = 0;
};

TEST_F(RawStreamTest, ComesInPiecesOfAnySize) {
  RawStreamWriter writer(tables_);
  ReceivedStream stream;
  std::mt19937 random(3);
  for (unsigned round = 0; round < 20; ++round) {
    add(writer);
    const std::vector<uint8_t> bytes = writer.take();
    for (std::span<const uint8_t> rest = bytes; !rest.empty();) {
      const size_t part = std::min<size_t>(rest.size(), 1 + random() % 3000);
      stream.receive(rest.first(part));
      rest = rest.subspan(part);
    }
    if (random() % 2 == 0) drain(stream);
  }
  drain(stream);
  EXPECT_EQ(stream.failure(), "");
  ASSERT_EQ(received_.size(), sent_.size());
  expect_same(stream, 0, 0, sent_.size());
  expect_all_tables();
  EXPECT_EQ(stream.state().lost_events, 3u);
}

TEST_F(RawStreamTest, AFrameThatIsMissingOrComesAgainEndsTheStream) {
  for (const bool comes_again : {false, true}) {
    RawStreamWriter writer(tables_);
    ReceivedStream stream;
    received_.clear();
    add(writer);
    const std::vector<uint8_t> first = writer.take();
    add(writer);
    const std::vector<uint8_t> missed = writer.take();
    add(writer);
    stream.receive(first);
    stream.receive(comes_again ? std::span(first).subspan(kRawStreamHeadBytes)
                               : std::span<const uint8_t>(writer.take()));
    drain(stream);
    EXPECT_NE(stream.failure(), "");
    EXPECT_EQ(received_.size(), 200u);
    EXPECT_NE(stream.state().gaps & model::kGapDamagedLog, 0u);
  }
}

TEST_F(RawStreamTest, PackedFramesAreFewerBytesAndTheSame) {
  DeflatePacker packer;
  RawStreamWriter plain(tables_);
  RawStreamWriter packed(tables_);
  packed.pack_with(&packer);
  DeflateUnpacker unpacker;
  ReceivedStream stream(&unpacker);
  const log::RawEvents drained = events(5000);
  for (RawStreamWriter* writer : {&plain, &packed}) {
    writer->add_drain(drained, 1, state_, [](uint32_t) { return std::string(); });
  }
  const std::vector<uint8_t> bytes = packed.take();
  EXPECT_LT(bytes.size(), plain.take().size());
  stream.receive(bytes);
  sent_ = drained;
  drain(stream);
  ASSERT_EQ(received_.size(), 5000u);
  expect_same(stream, 0, 0, 5000);
}

TEST_F(RawStreamTest, PackedFramesAreRefusedByWhoCannotUnpackThem) {
  DeflatePacker packer;
  RawStreamWriter writer(tables_);
  writer.pack_with(&packer);
  add(writer, 5000);
  ReceivedStream stream;
  stream.receive(writer.take());
  drain(stream);
  EXPECT_TRUE(received_.empty());
  EXPECT_NE(stream.failure(), "");
}

// It would be 64 MiB of stacks.
TEST_F(RawStreamTest, AFrameThatClaimsToBecomeHugeIsRefused) {
  DeflateUnpacker unpacker;
  ReceivedStream stream(&unpacker);
  stream.receive(RawStreamWriter(tables_).take());
  base::Deflater deflater;
  const std::vector<uint8_t> zeros(size_t{60} << 20);
  const std::span<const uint8_t> stored = deflater.compress(zeros);
  std::vector<uint8_t> frame(wire::kFrameHeadBytes);
  wire::write_frame_head(frame.data(),
                         {.type = wire::FrameType::kStacks,
                          .codec = wire::Codec::kDeflate,
                          .stored_bytes = static_cast<uint32_t>(stored.size()),
                          .raw_bytes = static_cast<uint32_t>(zeros.size())},
                         stored.data());
  frame.insert(frame.end(), stored.begin(), stored.end());
  stream.receive(frame);
  EXPECT_NE(stream.failure(), "");
}

TEST_F(RawStreamTest, TimesAreAsExactAsIsAskedFor) {
  state_.ticks = 3'000'000'000;
  state_.elapsed_ns = 1'000'000'000;
  for (const auto& [step_ns, step_ticks] : std::map<uint64_t, uint64_t>{{0, 1}, {1000, 2048}, {10'000, 8192}}) {
    RawStreamWriter writer(tables_, {.time_step_ns = step_ns});
    ReceivedStream stream;
    received_.clear();
    sent_.clear();
    add(writer, 1000);
    stream.receive(writer.take());
    drain(stream);
    ASSERT_EQ(received_.size(), 1000u);
    for (size_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(received_[i].time, sent_[i].time / step_ticks * step_ticks);
      EXPECT_EQ(received_[i].time, writer.received_time(sent_[i].time));
    }
  }
}

TEST_F(RawStreamTest, ADrainOfAnySizeComesAsOne) {
  RawStreamWriter writer(tables_);
  ReceivedStream stream;
  add(writer, 200'000);
  stream.receive(writer.take());
  EXPECT_EQ(stream.drain(received_, false), uint64_t{16} * 200'000);
  EXPECT_EQ(stream.failure(), "");
  EXPECT_EQ(received_.size(), 200'000u);
  EXPECT_TRUE(stream.state().is_empty);
  EXPECT_FALSE(stream.state().has_unread);
}

TEST_F(RawStreamTest, StreamsOfOtherTablesOrVersionsAreRefused) {
  const auto refusal = [this](size_t at, uint8_t byte) {
    auto head = RawStreamWriter(tables_).take();
    head[at] = byte;
    ReceivedStream stream;
    stream.receive(head);
    return stream.failure();
  };
  EXPECT_EQ(refusal(12, EventGuesses::kMaxTableBits), "");
  EXPECT_NE(refusal(12, EventGuesses::kMaxTableBits + 1), "");
  EXPECT_NE(refusal(12, 0), "");
  EXPECT_NE(refusal(8, 1), "");
}

}  // namespace
}  // namespace heaptap::stream
