// The frames of a raw stream: over several connections, with some that are missing, packed or not.
#include "collect/raw_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collect/frame_packing.h"
#include "model/capture.h"

namespace heaptap::collect {
namespace {

using wire::RawEvent;
using wire::RecordKind;
using Frames = std::vector<RawStreamWriter::Frame>;

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
  static void receive(ReceivedStream& stream, const Frames& frames) {
    for (const auto& frame : frames) stream.receive(frame.bytes);
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

TEST_F(RawStreamTest, FramesInPiecesAreTheBytesInOne) {
  RawStreamWriter pieces(tables_);
  RawStreamWriter whole(tables_);
  const log::RawEvents drained = events(500);
  for (RawStreamWriter* writer : {&pieces, &whole}) {
    writer->add_drain(drained, 1, state_, [](uint32_t) { return std::string(); });
  }
  std::vector<uint8_t> bytes;
  std::ranges::copy(pieces.head(), std::back_inserter(bytes));
  uint32_t number = 0;
  for (const auto& frame : pieces.take_frames()) {
    EXPECT_EQ(frame.number, number++);
    std::ranges::copy(frame.bytes, std::back_inserter(bytes));
  }
  EXPECT_EQ(bytes, whole.take());
}

TEST_F(RawStreamTest, AStreamGoesOnOverAnotherConnection) {
  RawStreamWriter writer(tables_);
  ReceivedStream stream;
  Frames kept;
  std::mt19937 random(3);
  for (unsigned connection = 0; connection < 20; ++connection) {
    stream.receive(writer.head());
    const uint32_t next = stream.frame_number();
    std::erase_if(kept, [&](const auto& frame) { return frame.number + 2 < next; });  // two are sent twice
    writer.acknowledge(next);
    add(writer);
    add(writer);
    for (auto& frame : writer.take_frames()) kept.push_back(std::move(frame));
    size_t left = random() % 30'000;  // it breaks somewhere
    for (const auto& frame : kept) {
      const size_t part = std::min(left, frame.bytes.size());
      stream.receive(std::span(frame.bytes).first(part));
      left -= part;
    }
    if (random() % 2 == 0) drain(stream);
    stream.reconnect();
  }
  stream.receive(writer.head());
  receive(stream, kept);
  drain(stream);
  EXPECT_EQ(stream.failure(), "");
  ASSERT_EQ(received_.size(), sent_.size());
  expect_same(stream, 0, 0, sent_.size());
  expect_all_tables();
  EXPECT_EQ(stream.state().lost_events, 3u);
}

TEST_F(RawStreamTest, WhatWasSkippedIsCountedAndTheRestArrives) {
  RawStreamWriter writer(tables_);
  ReceivedStream stream;
  stream.receive(writer.head());
  add(writer);
  receive(stream, writer.take_frames());
  writer.acknowledge(stream.frame_number());
  for (unsigned i = 0; i < 5; ++i) add(writer);
  writer.take_frames();  // there is no room for these
  writer.skip();
  add(writer);
  receive(stream, writer.take_frames());
  drain(stream);
  EXPECT_EQ(stream.failure(), "");
  EXPECT_EQ(stream.state().lost_events, 3u + 5 * 200);
  ASSERT_EQ(received_.size(), 400u);
  expect_same(stream, 0, 0, 200);
  expect_same(stream, 1200, 200, 200);
  expect_all_tables();
}

TEST_F(RawStreamTest, NothingIsKeptForWhoLosesNoBytes) {
  RawStreamWriter writer(tables_);
  add(writer);
  EXPECT_GT(writer.take().size(), 200u);
  writer.skip();
  EXPECT_EQ(writer.take_frames().size(), 1u);  // that it skipped: no table comes again
}

TEST_F(RawStreamTest, OfSkippedFramesThoseThatArrivedAreNotLost) {
  for (unsigned arrived = 0; arrived < 40; ++arrived) {
    RawStreamWriter writer(tables_);
    ReceivedStream stream;
    received_.clear();
    stream.receive(writer.head());
    for (unsigned i = 0; i < 6; ++i) add(writer);
    Frames frames = writer.take_frames();
    frames.resize(std::min<size_t>(frames.size(), arrived));
    receive(stream, frames);
    writer.skip();  // none was acknowledged
    for (unsigned i = 0; i < 6; ++i) add(writer);
    receive(stream, writer.take_frames());
    drain(stream);
    EXPECT_EQ(stream.failure(), "");
    EXPECT_EQ(received_.size() + stream.state().lost_events, 3u + 12 * 200);
    expect_same(stream, sent_.size() - 1200, received_.size() - 1200, 1200);
  }
}

TEST_F(RawStreamTest, OneMaySkipTimeAndAgain) {
  RawStreamWriter writer(tables_);
  ReceivedStream stream;
  stream.receive(writer.head());
  for (unsigned i = 0; i < 6; ++i) {
    add(writer);
    writer.skip();
  }
  add(writer);
  receive(stream, writer.take_frames());
  drain(stream);
  EXPECT_EQ(stream.failure(), "");
  EXPECT_EQ(stream.state().lost_events, 3u + 6 * 200);
  expect_same(stream, sent_.size() - 200, 0, 200);
  expect_all_tables();
}

TEST_F(RawStreamTest, AFrameThatIsMissingWithoutASkipEndsTheStream) {
  RawStreamWriter writer(tables_);
  ReceivedStream stream;
  stream.receive(writer.head());
  add(writer);
  Frames frames = writer.take_frames();
  add(writer);
  Frames later = writer.take_frames();
  frames.insert(frames.end(), later.begin() + 1, later.end());
  receive(stream, frames);
  drain(stream);
  EXPECT_NE(stream.failure(), "");
  EXPECT_EQ(received_.size(), 200u);
  EXPECT_NE(stream.state().gaps & model::kGapDamagedLog, 0u);
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
  stream.receive(RawStreamWriter(tables_).head());
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
  for (const auto& [step_ns, most_ticks] : std::map<uint64_t, uint64_t>{{0, 1}, {1000, 2048}, {10'000, 8192}}) {
    RawStreamWriter writer(tables_, {.time_step_ns = step_ns});
    ReceivedStream stream;
    received_.clear();
    sent_.clear();
    add(writer, 1000);
    stream.receive(writer.take());
    drain(stream);
    ASSERT_EQ(received_.size(), 1000u);
    for (size_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(received_[i].time, sent_[i].time / most_ticks * most_ticks);
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
    auto head = RawStreamWriter(tables_).head();
    head[at] = byte;
    ReceivedStream stream;
    stream.receive(head);
    return stream.failure();
  };
  EXPECT_EQ(refusal(12, EventGuesses::kMaxTableBits), "");
  EXPECT_NE(refusal(12, EventGuesses::kMaxTableBits + 1), "");
  EXPECT_NE(refusal(12, 0), "");
  EXPECT_NE(refusal(8, 1), "");
  ReceivedStream stream;
  stream.receive(RawStreamWriter(tables_).head());
  stream.reconnect();
  stream.receive(RawStreamWriter(tables_, {.table_bits = 8}).head());
  EXPECT_NE(stream.failure(), "");
}

}  // namespace
}  // namespace heaptap::collect
