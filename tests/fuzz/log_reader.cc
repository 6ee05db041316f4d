// A log whose memory was overwritten by the program that it is in: draining it ends, reads nothing outside of it, and what
// comes out can be coded.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "capture/log/log_reader.h"
#include "capture/stream/mapped_stream.h"
#include "common/frames/table_frames.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"
#include "record/ingest/event_coder.h"

using namespace heaptap;

namespace {

constexpr uint32_t kSlots = 4;
constexpr uint32_t kCodes = 16;
constexpr uint32_t kNodes = 32;
constexpr uint32_t kChunks = 4;

// A small log of exactly its own size, so that one byte more is noticed.
class SmallLog {
 public:
  SmallLog() : log_(new(std::aligned_alloc(4096, kBytes)) wire::LogHeader) {
    std::memset(static_cast<void*>(log_), 0, kBytes);
    log_->magic = wire::kLogMagic;
    log_->version = wire::kLogVersion;
    log_->total_bytes = kBytes;
    log_->slot_count = kSlots;
    log_->code_capacity = kCodes;
    log_->node_capacity = kNodes;
    log_->chunk_count = kChunks;
    log_->slots_offset = kSlotsAt;
    log_->codes_offset = kCodesAt;
    log_->nodes_offset = kNodesAt;
    log_->chunks_offset = kChunksAt;
  }
  ~SmallLog() { std::free(log_); }
  SmallLog(const SmallLog&) = delete;
  SmallLog& operator=(const SmallLog&) = delete;

  wire::LogHeader& header() { return *log_; }
  [[nodiscard]] stream::MappedTables tables() const {
    return {{reinterpret_cast<const wire::CodeEntry*>(at(kCodesAt)), kCodes},
            {reinterpret_cast<const wire::StackNode*>(at(kNodesAt)), kNodes}};
  }

  // The shared words, the slots, the tables and the chunks are what the fuzzer says.
  void overwrite(fuzz::ByteSource& source) {
    log_->slots_used.store(source.take<uint32_t>());
    log_->used_chunks.store(source.take<uint8_t>());
    log_->free_chunks.store(source.take<uint64_t>());
    copy(source, kSlotsAt, kSlots * sizeof(wire::StreamSlot));
    copy(source, kCodesAt, kCodes * sizeof(wire::CodeEntry));
    copy(source, kNodesAt, kNodes * sizeof(wire::StackNode));
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      copy(source, kChunksAt + size_t{chunk} * wire::kChunkBytes, source.take<uint16_t>() % (wire::kChunkBytes + 1u));
    }
  }

 private:
  static constexpr size_t kSlotsAt = 4096;
  static constexpr size_t kCodesAt = kSlotsAt + kSlots * sizeof(wire::StreamSlot);
  static constexpr size_t kNodesAt = kCodesAt + kCodes * sizeof(wire::CodeEntry);
  static constexpr size_t kChunksAt = 8192;
  static constexpr size_t kBytes = kChunksAt + size_t{kChunks} * wire::kChunkBytes;
  static_assert(kNodesAt + kNodes * sizeof(wire::StackNode) <= kChunksAt);

  [[nodiscard]] uint8_t* at(size_t offset) const { return reinterpret_cast<uint8_t*>(log_) + offset; }
  void copy(fuzz::ByteSource& source, size_t offset, size_t bytes) {
    const std::span<const uint8_t> from = source.bytes(bytes);
    if (!from.empty()) std::memcpy(at(offset), from.data(), from.size());
  }

  wire::LogHeader* log_;
};

void check(const model::EventBatch& batch, const model::Tables& tables) {
  for (const model::Event& event : batch.events) {
    FUZZ_EXPECT(event.site < tables.sites.size() && tables.sites[event.site].stack < tables.stacks.size());
  }
  for (size_t i = wire::kRootCount; i < tables.stacks.size(); ++i) {
    FUZZ_EXPECT(tables.stacks[i].parent < i && tables.stacks[i].code < tables.codes.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  SmallLog log;
  log::LogReader reader{log::LogParts(log.header())};
  model::Tables tables = frames::empty_tables();
  const stream::MappedTables agent = log.tables();
  ingest::EventCoder coder(agent, tables, 1000, true);
  log::RawEvents raw;
  constexpr unsigned kMaxRounds = 4;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    log.overwrite(source);
    const bool last = round + 1 == kMaxRounds || source.empty();
    if (last) {
      while (reader.drain(raw, true) > 0 || !reader.is_empty()) {
      }
    } else {
      reader.drain(raw, false);
    }
    (void)reader.take_new_threads();
    // No stream gives more in a round than the chunks can hold.
    FUZZ_EXPECT(raw.size() <= (round + 1) * size_t{kSlots} * kChunks * wire::kChunkBytes / sizeof(wire::Record));
    model::EventBatch batch;
    size_t taken = 0;
    for (;;) {
      const size_t more = coder.take(std::span(raw).subspan(taken), {}, 100000, last, batch);
      taken += more;
      if (more == 0 || taken == raw.size()) break;
    }
    FUZZ_EXPECT(!last || taken == raw.size());
    check(batch, tables);
    raw.erase(raw.begin(), raw.begin() + static_cast<ptrdiff_t>(taken));
    if (last) break;
  }
  return 0;
}
