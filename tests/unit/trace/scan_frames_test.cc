// Leak scans as frames: what is written comes back, and what is damaged is not taken.
#include "record/trace/scan_frames.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "made_up_scan.h"
#include "random_events.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"

namespace heaptap::trace {
namespace {

using heaptap::test::heap_like_scan;
using heaptap::test::scan_tables;
using model::HeapScan;

using Payload = std::vector<uint8_t>;

std::vector<Payload> payloads_of(const HeapScan& scan) {
  std::vector<Payload> payloads;
  ScanFrameWriter writer(scan, scan.events_before);
  while (const frames::ByteBuffer* payload = writer.next())
    payloads.emplace_back(payload->data(), payload->data() + payload->size());
  return payloads;
}

bool add(ScanFrameReader& reader, const Payload& payload, const model::Tables& tables) {
  wire::VarintReader in(payload.data(), payload.size());
  return reader.add(in, tables);
}

std::optional<HeapScan> read(const std::vector<Payload>& payloads, const model::Tables& tables) {
  ScanFrameReader reader;
  for (const Payload& payload : payloads) {
    if (!add(reader, payload, tables)) return std::nullopt;
  }
  if (!reader.whole()) return std::nullopt;
  return reader.take();
}

void expect_same(const HeapScan& a, const HeapScan& b) {
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.time_ns, b.time_ns);
  EXPECT_EQ(a.events_before, b.events_before);
  EXPECT_EQ(a.stopped_ns, b.stopped_ns);
  EXPECT_EQ(a.total_ns, b.total_ns);
  EXPECT_EQ(a.read_bytes, b.read_bytes);
  EXPECT_EQ(a.skipped_bytes, b.skipped_bytes);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.pointers_begin, b.pointers_begin);
  EXPECT_EQ(a.lives, b.lives);
  const auto same_block = [](const model::ScannedBlock& x, const model::ScannedBlock& y) {
    return x.address == y.address && x.size_bytes == y.size_bytes && x.number == y.number && x.site == y.site &&
           x.type == y.type;
  };
  const auto same_pointer = [](const model::BlockPointer& x, const model::BlockPointer& y) {
    return x.to == y.to && x.offset == y.offset && x.kind == y.kind;
  };
  const auto same_root = [](const model::RootPointer& x, const model::RootPointer& y) {
    return x.to == y.to && x.kind == y.kind && x.root == y.root && x.thread == y.thread && x.address == y.address &&
           x.frame_code == y.frame_code && x.module == y.module && x.module_offset == y.module_offset;
  };
  EXPECT_TRUE(std::ranges::equal(a.blocks, b.blocks, same_block));
  EXPECT_TRUE(std::ranges::equal(a.pointers, b.pointers, same_pointer));
  EXPECT_TRUE(std::ranges::equal(a.roots, b.roots, same_root));
  EXPECT_EQ(a.resident, b.resident);
}

HeapScan with_facts(HeapScan scan) {
  scan.number = 7;
  scan.reason = model::ScanReason::kAsked;
  scan.time_ns = 123456789012;
  scan.events_before = 99;
  scan.stopped_ns = 1234567;
  scan.total_ns = 7654321;
  scan.read_bytes = uint64_t{1} << 40;
  scan.skipped_bytes = 4096;
  scan.threads = 12;
  scan.notes = {{.kind = model::NoteKind::kMemoryNotRead, .numbers = {5}},
                {.kind = static_cast<model::NoteKind>(99), .module = "libx.so", .name = "of a later version"}};
  return scan;
}

// Everything at its extremes.
HeapScan odd_scan() {
  HeapScan scan;
  scan.blocks = {{1, 0, 1, 0, 0},
                 {3, 70, 1u << 30, 4, 0xffffffffffffffff},
                 {0x7fff, 8, 3, 0, 5},
                 {uint64_t{1} << 63, 1 << 20, ~uint64_t{0}, 0, 0},
                 {0xfffffffffffffff0, 15, 2, 4, 1}};
  scan.pointers_begin = {0, 0, 3, 3, 5, 5};
  scan.pointers = {{1, 0, wire::PointerKind::kStart},
                   {4, 1, wire::PointerKind::kLength64},
                   {0, 7, wire::PointerKind::kInterior},
                   {3, 0, wire::PointerKind::kStdString},
                   {2, 131071, wire::PointerKind::kArrayCookie}};
  scan.roots = {{4, wire::PointerKind::kStart, wire::RootKind::kContextStack, 0xffffffff, ~uint64_t{0}, 3},
                {0, wire::PointerKind::kMultipleInheritance, wire::RootKind::kThreadLocal, 0, 0, ~uint64_t{0}, 2, 77},
                {1, wire::PointerKind::kInterior, wire::RootKind::kRegister, 1, 17, 0}};
  return scan;
}

TEST(ScanFrames, KeepWhichBlocksAreAlive) {
  const model::Tables tables = scan_tables(5);
  for (const uint32_t count : {3u, 300'000u}) {  // in several frames
    HeapScan scan = heap_like_scan(count, 5);
    for (uint32_t i = 0; i < count; ++i) scan.lives.push_back(static_cast<model::BlockLife>(i / 7 * i % 3));
    const std::vector<Payload> payloads = payloads_of(scan);
    const auto same = read(payloads, tables);
    ASSERT_TRUE(same.has_value());
    expect_same(*same, scan);
  }
}

TEST(ScanFrames, DoNotTakeLivesThatAreNone) {
  const model::Tables tables = scan_tables(1);
  HeapScan scan = heap_like_scan(3, 1);
  scan.pointers.clear();
  scan.pointers_begin.assign(4, 0);
  scan.roots.clear();
  scan.lives.assign(3, model::BlockLife::kFree);
  std::vector<Payload> payloads = payloads_of(scan);
  ASSERT_TRUE(read(payloads, tables).has_value());
  Payload& blocks = payloads[1];
  ASSERT_EQ(blocks.back(), 3);  // the run's length
  for (const uint8_t count : {uint8_t{0}, uint8_t{2}, uint8_t{4}}) {
    blocks.back() = count;
    EXPECT_FALSE(read(payloads, tables).has_value()) << int{count};
  }
  blocks.back() = 3;
  blocks[blocks.size() - 2] = 3;  // no such life
  EXPECT_FALSE(read(payloads, tables).has_value());
}

TEST(ScanFrames, GiveBackAScan) {
  const model::Tables tables = scan_tables(50);
  for (const HeapScan& scan : {with_facts(odd_scan()), heap_like_scan(1000, 50), heap_like_scan(1, 1)}) {
    const auto copy = read(payloads_of(scan), tables);
    ASSERT_TRUE(copy);
    expect_same(*copy, scan);
  }
}

// A pool in a block of malloc, and its first block at its beginning.
TEST(ScanFrames, ABlockOfAPoolBeginsWithWhatItLiesIn) {
  HeapScan scan = with_facts(heap_like_scan(200, 50));
  scan.blocks[50] = scan.blocks[49];
  scan.blocks[50].number = model::kFirstPooledNumber;
  scan.blocks[50].size_bytes = 1;
  std::erase_if(scan.pointers, [](const model::BlockPointer&) { return true; });
  scan.pointers_begin.assign(scan.blocks.size() + 1, 0);
  const auto back = read(payloads_of(scan), scan_tables(50));
  ASSERT_TRUE(back.has_value());
  expect_same(*back, scan);
}

// Before 2.4 a head ended with sentences.
TEST(ScanFrames, OfEarlierVersionsHaveSentences) {
  HeapScan scan;
  scan.threads = 7;
  Payload head = payloads_of(scan)[0];
  ASSERT_TRUE(head.size() > 2 && head[head.size() - 2] == 0 && head.back() == 0);  // no sentences, no notes
  head.resize(head.size() - 2);
  head.insert(head.end(), {1, 4, 'd', 'e', 'e', 'p'});
  wire::VarintReader in(head.data(), head.size());
  ScanSummary summary;
  ASSERT_TRUE(read_scan_head(in, summary, false));
  EXPECT_EQ(summary.facts.threads, 7u);
  EXPECT_EQ(summary.facts.notes, (std::vector<model::Note>{{.kind = model::NoteKind::kText, .name = "deep"}}));
}

TEST(ScanFrames, GiveBackAnEmptyScan) {
  const auto copy = read(payloads_of(with_facts({})), {});
  ASSERT_TRUE(copy);
  HeapScan expected = with_facts({});
  expected.pointers_begin = {0};
  expect_same(*copy, expected);
}

TEST(ScanFrames, GiveBackAScanOfManyFrames) {
  const HeapScan scan = heap_like_scan(300'000, 200);
  const auto payloads = payloads_of(scan);
  EXPECT_GT(payloads.size(), 4u);
  for (const Payload& payload : payloads) EXPECT_LT(payload.size(), wire::kMaxFrameBytes / 8);
  const auto copy = read(payloads, scan_tables(200));
  ASSERT_TRUE(copy);
  expect_same(*copy, scan);
}

TEST(ScanFrames, ABlockWithMorePointersThanAFrameHoldsGoesOnInTheNext) {
  HeapScan scan = heap_like_scan(10, 3);
  scan.blocks.back().size_bytes = uint64_t{8} << 20;
  scan.pointers.clear();
  scan.pointers_begin.assign(10, 0);
  for (uint32_t i = 0; i < 900'000; ++i) scan.pointers.push_back({i % 10, i, wire::PointerKind::kStart});
  scan.pointers_begin.push_back(900'000);
  const auto copy = read(payloads_of(scan), scan_tables(3));
  ASSERT_TRUE(copy);
  expect_same(*copy, scan);
}

TEST(ScanFrames, MissingRepeatedAndExchangedFramesAreNoticed) {
  const auto tables = scan_tables(20);
  const auto payloads = payloads_of(heap_like_scan(300'000, 20));
  for (size_t i = 0; i < payloads.size(); ++i) {
    auto missing = payloads;
    missing.erase(missing.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(read(missing, tables)) << i;
    auto repeated = payloads;
    repeated.insert(repeated.begin() + static_cast<ptrdiff_t>(i), payloads[i]);
    EXPECT_FALSE(read(repeated, tables)) << i;
    if (i == 0) continue;
    auto exchanged = payloads;
    std::swap(exchanged[i], exchanged[i - 1]);
    EXPECT_FALSE(read(exchanged, tables)) << i;
  }
}

TEST(ScanFrames, OfAnotherScanAreNotTaken) {
  const auto tables = scan_tables(20);
  auto payloads = payloads_of(heap_like_scan(100, 20));
  payloads[1] = payloads_of(with_facts(heap_like_scan(100, 20)))[1];
  EXPECT_FALSE(read(payloads, tables));
}

TEST(ScanFrames, ReferToNothingThatIsNotThere) {
  const auto payloads = payloads_of(heap_like_scan(100, 20));
  EXPECT_TRUE(read(payloads, scan_tables(20)));
  EXPECT_FALSE(read(payloads, scan_tables(3)));
  EXPECT_FALSE(read(payloads, model::Tables{}));
}

TEST(ScanFrames, EveryCutAndChangedByteGivesASoundScanOrNone) {
  const auto tables = scan_tables(5);
  const auto whole = payloads_of(with_facts(odd_scan()));
  for (size_t frame = 0; frame < whole.size(); ++frame) {
    for (size_t at = 0; at < whole[frame].size(); ++at) {
      auto payloads = whole;
      payloads[frame].resize(at);
      EXPECT_FALSE(read(payloads, tables)) << frame << " " << at;
      for (int value = 0; value < 256; ++value) {
        payloads = whole;
        payloads[frame][at] = static_cast<uint8_t>(value);
        const auto scan = read(payloads, tables);
        if (!scan) continue;
        ASSERT_EQ(scan->pointers_begin.size(), scan->blocks.size() + 1);
        ASSERT_TRUE(std::ranges::is_sorted(scan->pointers_begin));
        ASSERT_EQ(scan->pointers_begin.back(), scan->pointers.size());
        for (const auto& pointer : scan->pointers) ASSERT_LT(pointer.to, scan->blocks.size());
        for (const auto& root : scan->roots) ASSERT_LT(root.to, scan->blocks.size());
        for (const auto& block : scan->blocks) ASSERT_LT(block.site, tables.sites.size());
      }
    }
  }
}

class ScanInTrace : public ::testing::Test {
 protected:
  ScanInTrace() {
    path_ = std::string(std::filesystem::temp_directory_path()) + "/heaptap-scan-test." + std::to_string(getpid());
    auto writer = TraceWriter::create(path_, true);
    EXPECT_TRUE((*writer)->begin(test::sample_capture()));
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE((*writer)->write(maker_.batch(100), maker_.tables()));
      scans_.push_back(scan(i));
      const uint64_t before = (*writer)->bytes_written();
      EXPECT_TRUE((*writer)->write_scan(scans_.back(), maker_.tables()));
      scan_places_.emplace_back(before, (*writer)->bytes_written());
      maker_.grow();
    }
    EXPECT_TRUE((*writer)->finish(test::sample_capture(), maker_.tables()));
  }
  ~ScanInTrace() override { std::filesystem::remove(path_); }

  HeapScan scan(int i) {
    HeapScan scan = i == 1 ? HeapScan{} : heap_like_scan(2000, static_cast<uint32_t>(maker_.tables().sites.size()));
    if (i == 1) scan.pointers_begin = {0};
    scan.number = static_cast<uint32_t>(i + 1);
    scan.events_before = static_cast<uint64_t>(i + 1) * 100;
    if (i == 1) {
      scan.resident = model::ResidentRegions{
          .regions = {{.range = {0x1000, 0x9000}, .kind = model::RegionKind::kHeap, .resident_bytes = 0x2000}},
          .runs = {{0x2000, 0x4000}}};
    }
    return scan;
  }

  struct Counted : EventSink {
    size_t batches = 0;
    void on_batch(const model::EventBatch&, const model::Tables&) override { ++batches; }
  };

  test::Maker maker_{5};
  std::string path_;
  std::vector<HeapScan> scans_;
  std::vector<std::pair<uint64_t, uint64_t>> scan_places_;
};

// Its frame is the last one of those that the scan has.
TEST_F(ScanInTrace, IsWholeWithoutResidentMemoryThatIsDamaged) {
  EXPECT_TRUE(TraceReader::open(path_)->load_scan(1)->resident);
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(scan_places_[1].second - 1));
    file.put('?');
  }
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->scans().size(), 3U);
  const auto loaded = reader->load_scan(1);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->resident);
  EXPECT_TRUE(reader->load_scan(2));
}

TEST_F(ScanInTrace, IsListedAndLoaded) {
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(reader->scans().size(), 3u);
    EXPECT_TRUE(reader->scan_notes().empty());
    for (size_t i = 0; i < 3; ++i) {
      const ScanSummary& summary = reader->scans()[i];
      EXPECT_EQ(summary.facts.number, i + 1);
      EXPECT_EQ(summary.facts.events_before, (i + 1) * 100);
      EXPECT_EQ(summary.block_count, scans_[i].blocks.size());
      EXPECT_EQ(summary.pointer_count, scans_[i].pointers.size());
      EXPECT_EQ(summary.root_count, scans_[i].roots.size());
      const auto loaded = reader->load_scan(i);
      ASSERT_TRUE(loaded) << loaded.error().message;
      expect_same(*loaded, scans_[i]);
    }
    Counted sink;
    ASSERT_TRUE(reader->replay(sink));
    EXPECT_EQ(sink.batches, 3u);
    EXPECT_FALSE(reader->capture().truncated) << reader->capture().damage;
  }
}

TEST_F(ScanInTrace, IsFoundWithoutTheIndex) {
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - wire::kTrailerBytes);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->scans().size(), 3u);
  EXPECT_EQ(reader->scans()[2].facts.events_before, 300u);
  const auto loaded = reader->load_scan(2);
  ASSERT_TRUE(loaded);
  expect_same(*loaded, scans_[2]);
}

TEST_F(ScanInTrace, CutOffIsDroppedAndSaidSo) {
  std::filesystem::resize_file(path_, scan_places_[2].second - 1);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->scans().size(), 2u);
  ASSERT_EQ(reader->scan_notes().size(), 1u);
  EXPECT_EQ(reader->scan_notes()[0].kind, model::NoteKind::kScanCutOff);
  EXPECT_EQ(reader->scan_notes()[0].number(0), 3u);
  expect_same(*reader->load_scan(0), scans_[0]);
}

TEST_F(ScanInTrace, DamagedInTheMiddleIsAnErrorAndNothingElseIsLost) {
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(scan_places_[0].second - 5));
    file.put('x');
  }
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->scans().size(), 3u);
  const auto loaded = reader->load_scan(0);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("damaged"), std::string::npos);
  EXPECT_TRUE(reader->load_scan(2));
}

}  // namespace
}  // namespace heaptap::trace
