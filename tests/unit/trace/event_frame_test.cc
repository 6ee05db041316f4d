// The payloads of a trace's frames: what was written is given back, and damaged bytes give nothing unsound.
#include <gtest/gtest.h>

#include <random>

#include "common/frames/capture_frames.h"
#include "common/frames/table_frames.h"
#include "common/wire/mapping.h"
#include "random_events.h"
#include "record/trace/event_frame.h"
#include "record/trace/release_guess.h"
#include "record/trace/site_coder.h"

namespace heaptap::trace {
namespace {

using namespace test;

wire::VarintReader reader_of(const frames::ByteBuffer& buffer) { return {buffer.data(), buffer.size()}; }

// Calls check(bytes) with damaged copies: cut at each byte, each byte changed, and bytes at random.
template <typename Check>
void for_each_damage(const uint8_t* data, size_t bytes, const Check& check) {
  std::mt19937 random(5);
  std::vector<uint8_t> copy(data, data + bytes);
  for (size_t kept = 0; kept < bytes; ++kept) check(std::vector<uint8_t>(data, data + kept));
  for (size_t at = 0; at < bytes; ++at) {
    for (const int value : {0, 1, 0x7f, 0x80, 0xff, static_cast<int>(random() & 0xff)}) {
      copy[at] = static_cast<uint8_t>(value);
      check(copy);
    }
    copy[at] = data[at];
  }
  for (int round = 0; round < 500; ++round) {
    std::vector<uint8_t> noise(random() % 200);
    for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random() >> (random() % 8));
    check(noise);
  }
}

void write_all(std::vector<frames::ByteBuffer>& frames, const Tables& tables, frames::TableCounts& written) {
  frames.resize(6);
  for (frames::ByteBuffer& frame : frames) frame.clear();
  frames::write_modules(frames[0], tables.modules, written.modules);
  frames::write_codes(frames[1], tables.codes, written.codes);
  frames::write_stacks(frames[2], tables.stacks, written.stacks);
  frames::write_labels(frames[3], tables.labels, written.labels);
  frames::write_sites(frames[4], tables.sites, written.sites);
  frames::write_first_number(frames[4], written.sites);  // by which its columns are told from what is behind them
  frames::write_threads(frames[5], tables.threads, written.threads);
  written = {.modules = tables.modules.size(),
             .codes = tables.codes.size(),
             .stacks = tables.stacks.size(),
             .sites = tables.sites.size(),
             .threads = tables.threads.size(),
             .labels = tables.labels.size()};
}

using ReadTable = bool (*)(wire::VarintReader&, Tables&);
constexpr ReadTable kReadTable[] = {frames::read_modules, frames::read_codes, frames::read_stacks,
                                    frames::read_labels,  frames::read_sites, frames::read_threads};

TEST(TableFrames, GiveBackTablesThatGrow) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Maker maker(seed);
    Tables read = frames::empty_tables();
    frames::TableCounts written;
    std::vector<frames::ByteBuffer> frames;
    for (int step = 0; step < 4; ++step) {
      write_all(frames, maker.tables(), written);
      for (size_t table = 0; table < 6; ++table) {
        wire::VarintReader in = reader_of(frames[table]);
        ASSERT_TRUE(kReadTable[table](in, read));
        EXPECT_EQ(in.left(), table == 4 ? wire::kFirstNumberBytes : 0u);
      }
      expect_same(read, maker.tables());
      maker.grow();
    }
  }
}

TEST(TableFrames, TakeOnlyWhatHoldsTogether) {
  Maker maker(1);
  frames::TableCounts written;
  std::vector<frames::ByteBuffer> first;
  std::vector<frames::ByteBuffer> frames;
  write_all(first, maker.tables(), written);
  maker.grow();
  write_all(frames, maker.tables(), written);
  for (size_t table = 0; table < 6; ++table) {
    Tables before = frames::empty_tables();
    for (size_t i = 0; i < 6; ++i) {
      wire::VarintReader in = reader_of(first[i]);
      ASSERT_TRUE(kReadTable[i](in, before));
    }
    for_each_damage(frames[table].data(), frames[table].size(), [&](const std::vector<uint8_t>& bytes) {
      Tables read = before;
      wire::VarintReader in(bytes.data(), bytes.size());
      kReadTable[table](in, read);
      expect_sound(read);
    });
  }
}

TEST(TableFrames, ACountBeyondThePayloadTakesNoMemory) {
  frames::ByteBuffer frame;
  frame.varint(UINT64_MAX);
  for (const ReadTable read : kReadTable) {
    Tables tables = frames::empty_tables();
    wire::VarintReader in = reader_of(frame);
    EXPECT_FALSE(read(in, tables));
    EXPECT_EQ(tables.stacks.size(), wire::kRootCount);
  }
}

TEST(CaptureFrames, GiveBackEveryFact) {
  for (const bool other : {false, true}) {
    model::Capture capture = sample_capture();
    if (other) {
      capture.word_bytes = 4;
      capture.page_bytes = 65536;
      capture.big_endian = true;
      capture.from_start = false;
      capture.exit = {.code = 255, .signal = std::nullopt};
      capture.notes.clear();
    }
    frames::ByteBuffer start;
    frames::ByteBuffer end;
    frames::write_capture_start(start, capture);
    frames::write_capture_end(end, capture);
    model::Capture read;
    for (const frames::ByteBuffer* frame : {&start, &end}) {
      wire::VarintReader in = reader_of(*frame);
      ASSERT_TRUE(frames::read_capture(in, read));
    }
    expect_same(read, capture);
  }
}

TEST(CaptureFrames, HaveWhatWasCountedBesideSamples) {
  model::Capture capture = sample_capture();
  capture.sample_interval = 512 << 10;
  capture.calls = {{.thread = 1, .allocations = 3, .allocated_bytes = 1ull << 40, .releases = 2},
                   {.thread = 9, .allocations = 0, .allocated_bytes = 0, .releases = UINT64_MAX}};
  frames::ByteBuffer start;
  frames::ByteBuffer end;
  frames::write_capture_start(start, capture);
  frames::write_capture_end(end, capture);
  model::Capture read;
  for (const frames::ByteBuffer* frame : {&start, &end}) {
    wire::VarintReader in = reader_of(*frame);
    ASSERT_TRUE(frames::read_capture(in, read));
  }
  EXPECT_EQ(read.sample_interval, capture.sample_interval);
  EXPECT_EQ(read.calls, capture.calls);
}

TEST(CaptureFrames, HaveTheStackOfACrash) {
  model::Capture capture = sample_capture();
  capture.crash = {.stack = 300, .thread = 2};
  frames::ByteBuffer frame;
  frames::write_capture_end(frame, capture);
  model::Capture read;
  wire::VarintReader in = reader_of(frame);
  ASSERT_TRUE(frames::read_capture(in, read));
  ASSERT_TRUE(read.crash);
  EXPECT_EQ(read.crash->stack, 300u);
  EXPECT_EQ(read.crash->thread, 2u);
}

TEST(CaptureFrames, PassOverFieldsOfLaterVersions) {
  frames::ByteBuffer frame;
  frame.varint(9999);
  frame.text("something new");
  frames::write_capture_start(frame, sample_capture());
  model::Capture read;
  wire::VarintReader in = reader_of(frame);
  ASSERT_TRUE(frames::read_capture(in, read));
  EXPECT_EQ(read.pid, 4242u);
}

// Before 2.4 a note was a sentence.
TEST(CaptureFrames, TakeTheSentencesOfEarlierVersions) {
  frames::ByteBuffer frame;
  frames::write_capture_start(frame, sample_capture());
  frame.varint(38);
  frame.text("nothing was seen");
  model::Capture read;
  wire::VarintReader in = reader_of(frame);
  ASSERT_TRUE(frames::read_capture(in, read));
  EXPECT_EQ(read.notes, (std::vector<model::Note>{{.kind = model::NoteKind::kText, .name = "nothing was seen"}}));
}

TEST(CaptureFrames, SayThatANoteCannotBeRead) {
  frames::ByteBuffer frame;
  frames::write_capture_start(frame, sample_capture());
  frame.varint(43);
  frame.text("\xff");
  model::Capture read;
  wire::VarintReader in = reader_of(frame);
  ASSERT_TRUE(frames::read_capture(in, read));
  EXPECT_EQ(read.notes, (std::vector<model::Note>{{.kind = model::NoteKind::kUnreadableNote}}));
}

TEST(CaptureFrames, SurviveDamage) {
  frames::ByteBuffer frame;
  frames::write_capture_start(frame, sample_capture());
  frames::write_capture_end(frame, sample_capture());
  for_each_damage(frame.data(), frame.size(), [](const std::vector<uint8_t>& bytes) {
    model::Capture read;
    wire::VarintReader in(bytes.data(), bytes.size());
    frames::read_capture(in, read);
    EXPECT_LE(read.notes.size(), 1000u);
  });
}

TEST(CaptureFrames, RepeatedFieldsAreBounded) {
  constexpr uint64_t kArgument = 1;
  constexpr uint64_t kSuppressionFile = 15;
  constexpr uint64_t kSuppressionText = 16;
  frames::ByteBuffer frame;
  for (int i = 0; i < 70'000; ++i) {
    frame.varint(kArgument);
    frame.text("");
  }
  const std::string text(uint64_t{5} << 20, 'x');
  for (int i = 0; i < 2000; ++i) {
    frame.varint(kSuppressionFile);
    frame.text("f");
    frame.varint(kSuppressionText);
    frame.text(i < 4 ? text : "");
  }
  model::Capture read;
  for (int i = 0; i < 2; ++i) {
    wire::VarintReader in = reader_of(frame);
    ASSERT_TRUE(frames::read_capture(in, read));
    EXPECT_EQ(read.command.size(), 65'536u);
    ASSERT_EQ(read.suppressions.size(), 1000u);
    EXPECT_EQ(read.suppressions[2].text.size(), text.size());
    EXPECT_EQ(read.suppressions[3].text, "");
    EXPECT_EQ(read.notes.size(), 2u) << "it is said, once each";
  }
}

TEST(SiteCoder, GivesBackAnySequence) {
  std::mt19937 random(6);
  for (const size_t site_count : {1, 2, 5, 300, 70'000}) {
    std::vector<model::SiteId> sites;
    for (int i = 0; i < 3000; ++i) {
      const bool again = !sites.empty() && random() % 3 != 0;
      sites.push_back(again ? sites[random() % sites.size()] : static_cast<model::SiteId>(random() % site_count));
    }
    SiteEncoder encoder;
    std::vector<SiteModel::LocalSite> locals(site_count, 0);
    for (const model::SiteId site : sites) {
      const bool is_new = locals[site] == 0;
      if (is_new) locals[site] = encoder.add(site);
      encoder.put(locals[site], is_new);
    }
    encoder.end();
    const auto bytes_of = [](const frames::ByteBuffer& buffer) {
      return std::vector<uint8_t>(buffer.data(), buffer.data() + buffer.size());
    };
    const auto ranks = bytes_of(encoder.ranks);
    const auto misses = bytes_of(encoder.misses);
    const auto fresh = bytes_of(encoder.fresh);
    SiteDecoder decoder;
    ASSERT_TRUE(decoder.begin(site_count, sites.size(), ranks, misses, fresh));
    for (const model::SiteId expected : sites) {
      model::SiteId site = 0;
      ASSERT_TRUE(decoder.next(site));
      ASSERT_EQ(site, expected);
    }
  }
}

TEST(SiteCoder, RefusesStreamsThatDoNotHoldTogether) {
  SiteDecoder decoder;
  model::SiteId site = 0;
  EXPECT_FALSE(decoder.begin(5, 1, {3, 3}, {0, 0}, {0})) << "more ranks than events";
  EXPECT_FALSE(decoder.begin(5, 2, {8}, {}, {})) << "a run of rank 0 that ends behind the events";
  EXPECT_FALSE(decoder.begin(5, 1, {3}, {}, {0})) << "a miss without a number";
  EXPECT_FALSE(decoder.begin(5, 2, {3, 3}, {0, 0, 0}, {0})) << "half a plane";
  const std::vector<uint8_t> miss{3};
  const std::vector<uint8_t> zero{0};
  const std::vector<uint8_t> unknown{9};
  const std::vector<uint8_t> beyond{20};  // zigzag: +10
  const std::vector<uint8_t> none;
  ASSERT_TRUE(decoder.begin(5, 1, none, none, none));
  EXPECT_FALSE(decoder.next(site)) << "the rank of a follower that never was";
  ASSERT_TRUE(decoder.begin(5, 1, miss, unknown, none));
  EXPECT_FALSE(decoder.next(site)) << "a site that never came";
  ASSERT_TRUE(decoder.begin(5, 1, miss, zero, beyond));
  EXPECT_FALSE(decoder.next(site)) << "a site outside the table";
  ASSERT_TRUE(decoder.begin(5, 1, miss, zero, none));
  EXPECT_FALSE(decoder.next(site)) << "a new site that isn't named";
}

TEST(ReleaseGuess, IsTheNewestLiveBlockOfTheSiteWhoseBlockWasReleasedHereLast) {
  constexpr uint32_t kNodes = 1, kNames = 2, kRelease = 3;
  std::vector<SiteModel::Site> sites(4);
  ReleaseGuess state;
  state.begin();
  state.expect(5);
  ReleaseGuess::Cursor guess = state.cursor();
  const auto guessed = [&] { return guess.guess(sites.data(), sites[kRelease]); };
  const auto release = [&](uint64_t block) { guess.release(sites[kRelease], block); };
  for (const uint32_t site : {kNodes, kNodes, kNames, kNodes}) guess.allocate(sites[site], site);  // blocks 1 to 4
  EXPECT_EQ(guessed(), 0u) << "nothing was released here";
  release(1);
  EXPECT_EQ(guessed(), 4u);
  release(4);
  EXPECT_EQ(guessed(), 2u) << "passes over what is released";
  release(3);
  EXPECT_EQ(guessed(), 0u) << "no other block of that site is alive";
  release(4);
  release(99);
  EXPECT_EQ(guessed(), 0u) << "released before, and none of the frame's: they change nothing";
  release(2);
  guess.allocate(sites[kNodes], kNodes);
  EXPECT_EQ(guessed(), 5u);
}

TEST(ReleaseGuess, TellsWhetherABlocksLastReleaseHadItsOwnTag) {
  constexpr uint8_t kOwn = 3, kOther = 4;
  SiteModel::Site site;
  ReleaseGuess state;
  state.begin();
  state.expect(2);
  ReleaseGuess::Cursor guess = state.cursor();
  for (int i = 0; i < 2; ++i) guess.allocate(site, 1, kOwn);
  guess.release(site, 1);
  guess.match(1, kOwn);
  state.keep(guess);
  EXPECT_TRUE(state.matched(1));
  EXPECT_FALSE(state.matched(2));
  guess.match(1, kOther);
  EXPECT_FALSE(state.matched(1)) << "released again";
}

TEST(EventFrame, GivesBackReleasesInAnyOrder) {
  Tables tables = frames::empty_tables();
  for (const EventKind kind : {EventKind::kAllocate, EventKind::kAllocate, EventKind::kRelease, EventKind::kRelease}) {
    tables.sites.push_back({kind, Function::kMalloc, 0});
  }
  std::mt19937 random(9);
  EventFrameWriter writer(1);
  EventFrameReader reader;
  model::BlockNumber next = 1;
  for (int frame = 0; frame < 20; ++frame) {
    EventBatch batch;
    batch.first_block = next;
    batch.time_marks = {{0, 0}};
    std::vector<model::BlockNumber> live;
    for (int i = 0; i < 2000; ++i) {
      if (live.empty() || random() % 2 == 0) {
        batch.events.push_back({static_cast<model::SiteId>(random() % 2), 1, 32, 0});
        live.push_back(next++);
        continue;
      }
      // The newest, or any; sometimes one that is released already or belongs to an earlier frame.
      const size_t which = random() % 3 == 0 ? random() % live.size() : live.size() - 1;
      const bool odd = random() % 16 == 0;
      batch.events.push_back(
          {static_cast<model::SiteId>(2 + random() % 2), 1, odd ? 1 + random() % (next - 1) : live[which], 0});
      if (!odd) live.erase(live.begin() + static_cast<ptrdiff_t>(which));
    }
    EventBatch read;
    wire::VarintReader in = reader_of(writer.write(batch, tables.sites, kResolutionNs));
    ASSERT_TRUE(reader.read(in, tables, kResolutionNs, false, read));
    expect_same(read, batch);
  }
}

TEST(EventFrame, BlocksThatAreReleasedInTheirOrderTakeNearlyNothing) {
  Tables tables = frames::empty_tables();
  tables.sites.push_back({EventKind::kRelease, Function::kFree, 0});
  EventBatch batch;
  batch.first_block = 1'000'000;
  batch.time_marks = {{0, 0}};
  for (model::BlockNumber block = 1; block < 900'000; block += 300) batch.events.push_back({0, 1, block, 0});
  for (model::BlockNumber block = 899'999; block > 300; block -= 300) batch.events.push_back({0, 1, block, 0});
  EventFrameWriter writer(1);
  const frames::ByteBuffer& payload = writer.write(batch, tables.sites, kResolutionNs);
  EXPECT_LT(payload.size(), 200u);
  EventFrameReader reader;
  EventBatch read;
  wire::VarintReader in = reader_of(payload);
  ASSERT_TRUE(reader.read(in, tables, kResolutionNs, false, read));
  expect_same(read, batch);
}

// Allocations, releases and bad ones by two threads, with a mark now and then.
EventBatch long_batch(size_t event_count) {
  EventBatch batch;
  batch.time_marks = {{0, 0}};
  for (uint32_t i = 0; i < event_count; ++i) {
    if (i % 5000 == 4999) batch.time_marks.push_back({i, i * kResolutionNs});
    const model::ThreadId thread = 1 + i / 100 % 2;
    if (i % 7 == 3) {
      batch.bad_releases.push_back({i, model::BadReleaseKind::kNeverAllocated, i, 0, 0, 0, false});
      batch.events.push_back({1, thread, model::kUnknownBlock, i});
    } else if (i % 2 == 0) {
      batch.events.push_back({0, thread, i, 0});
    } else {
      batch.events.push_back({1, thread, 1 + i / 4, 0});
    }
  }
  return batch;
}

TEST(EventFrame, GivesALongFrameInBatchesThatAreTheWholeTogether) {
  Tables tables = frames::empty_tables();
  for (const EventKind kind : {EventKind::kAllocate, EventKind::kRelease, EventKind::kUndo}) {
    tables.sites.push_back({kind, Function::kMalloc, 0});
  }
  EventBatch batch = long_batch(30'000);
  EventFrameWriter writer(1);
  EventFrameReader reader;
  const auto read_batches = [&] {
    std::vector<EventBatch> batches;
    wire::VarintReader in = reader_of(writer.write(batch, tables.sites, kResolutionNs));
    EXPECT_TRUE(reader.begin(in, tables, kResolutionNs, false));
    while (!reader.at_end()) EXPECT_TRUE(reader.next(tables, batches.emplace_back()));
    return batches;
  };
  const std::vector<EventBatch> batches = read_batches();
  EXPECT_GT(batches.size(), 3u);
  EventBatch joined;
  uint64_t time = ~uint64_t{0};
  for (const EventBatch& part : batches) {
    const auto before = static_cast<uint32_t>(joined.events.size());
    ASSERT_FALSE(part.time_marks.empty());
    EXPECT_EQ(part.time_marks[0].first_event, 0u);
    for (const model::TimeMark& mark : part.time_marks) {
      if (mark.time_ns != time) joined.time_marks.push_back({mark.first_event + before, mark.time_ns});
      time = mark.time_ns;
    }
    for (model::BadRelease bad : part.bad_releases) {
      bad.event += before;
      joined.bad_releases.push_back(bad);
    }
    joined.events.insert(joined.events.end(), part.events.begin(), part.events.end());
  }
  expect_same(joined, batch);
  batch.events[20'000] = {2, 1, 0, 0};
  EXPECT_EQ(read_batches().size(), 1u) << "what is undone may be far from where";
}

TEST(EventFrame, GivesBackRandomBatches) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Maker maker(seed);
    EventFrameWriter writer(1);
    EventFrameReader reader;
    for (int step = 0; step < 4; ++step) {
      const EventBatch batch = maker.batch(maker.pick(3) == 0 ? 1 + maker.pick(3) : 1 + maker.pick(3000));
      const frames::ByteBuffer& payload = writer.write(batch, maker.tables().sites, kResolutionNs);
      for (const bool with_addresses : {true, false}) {
        EventBatch read;
        wire::VarintReader in = reader_of(payload);
        ASSERT_TRUE(reader.read(in, maker.tables(), kResolutionNs, with_addresses, read));
        EXPECT_TRUE(in.at_end());
        expect_same(read, maker.as_read(batch, with_addresses));
      }
      maker.grow();
    }
  }
}

TEST(EventFrame, HoldsTheLargestValues) {
  Tables tables = frames::empty_tables();
  for (const EventKind kind : {EventKind::kAllocate, EventKind::kRelease, EventKind::kUnmap, EventKind::kProtect}) {
    tables.sites.push_back({kind, Function::kMalloc, 0});
  }
  EventBatch batch;
  batch.first_block = uint64_t{1} << 62;
  batch.time_marks = {{0, (uint64_t{1} << 62) / kResolutionNs * kResolutionNs}};
  batch.events = {
      {0, wire::kMaxThreads, UINT64_MAX - 1, UINT64_MAX}, {2, 1, UINT64_MAX, UINT64_MAX}, {2, 1, 0, 0}, {1, 1, 1, 0}};
  constexpr wire::MappedMemory kLast{wire::MappedSource::kMoved, wire::MappedAccess::kWrite};
  batch.events.push_back({3, 1, wire::make_mapped(wire::kMaxMappedLength, kLast), UINT64_MAX});
  EventFrameWriter writer(1);
  EventFrameReader reader;
  EventBatch read;
  wire::VarintReader in = reader_of(writer.write(batch, tables.sites, kResolutionNs));
  ASSERT_TRUE(reader.read(in, tables, kResolutionNs, true, read));
  expect_same(read, batch);
}

// Frames of older traces end before the column.
TEST(EventFrame, WithoutAColumnOfMemoryItIsUnknownWhatIsMapped) {
  Tables tables = frames::empty_tables();
  tables.sites.push_back({EventKind::kMap, Function::kMmap, 0});
  EventBatch batch;
  batch.time_marks = {{0, 0}};
  batch.events = {{0, 1, wire::make_mapped(4096, {wire::MappedSource::kFile, wire::MappedAccess::kRead}), 0x10000}};
  EventFrameWriter writer(1);
  const frames::ByteBuffer& payload = writer.write(batch, tables.sites, kResolutionNs);
  constexpr size_t kColumnBytes = 4;  // its head, and a byte
  EventFrameReader reader;
  EventBatch read;
  wire::VarintReader in(payload.data(), payload.size() - kColumnBytes);
  ASSERT_TRUE(reader.read(in, tables, kResolutionNs, false, read));
  EXPECT_EQ(read.events[0].size_or_block, 4096u);
  in = reader_of(payload);
  ASSERT_TRUE(reader.read(in, tables, kResolutionNs, false, read));
  EXPECT_EQ(read.events, batch.events);
}

TEST(EventFrame, GivesOnlySoundBatchesOfDamagedBytes) {
  Maker maker(7);
  EventFrameWriter writer(1);
  EventFrameReader reader;
  const EventBatch batch = maker.batch(150);
  const frames::ByteBuffer& payload = writer.write(batch, maker.tables().sites, kResolutionNs);
  for_each_damage(payload.data(), payload.size(), [&](const std::vector<uint8_t>& bytes) {
    EventBatch read;
    wire::VarintReader in(bytes.data(), bytes.size());
    if (reader.read(in, maker.tables(), kResolutionNs, true, read)) expect_sound(read, maker.tables());
  });
}

// The columns' contents are protected by compression and checksum; here they are damaged behind both.
TEST(EventFrame, GivesOnlySoundBatchesOfDamagedColumns) {
  const auto bytes_of = [](const frames::ByteBuffer& buffer) {
    return std::vector<uint8_t>(buffer.data(), buffer.data() + buffer.size());
  };
  Maker maker(8);
  EventFrameWriter writer(1);
  EventFrameReader reader;
  // So few events that no column gets smaller by compression.
  for (int round = 0; round < 40; ++round) {
    const std::vector<uint8_t> payload =
        bytes_of(writer.write(maker.batch(1 + maker.pick(12)), maker.tables().sites, kResolutionNs));
    for_each_damage(payload.data(), payload.size(), [&](const std::vector<uint8_t>& bytes) {
      EventBatch read;
      wire::VarintReader in(bytes.data(), bytes.size());
      if (reader.read(in, maker.tables(), kResolutionNs, true, read)) expect_sound(read, maker.tables());
    });
  }
}

TEST(EventFrame, ACountOfTooManyEventsTakesNoMemory) {
  frames::ByteBuffer payload;
  payload.varint(uint64_t{1} << 40);
  payload.varint(1);
  EventFrameReader reader;
  EventBatch read;
  wire::VarintReader in = reader_of(payload);
  EXPECT_FALSE(reader.read(in, frames::empty_tables(), kResolutionNs, true, read));
}

}  // namespace
}  // namespace heaptap::trace
