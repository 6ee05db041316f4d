// Log written by a test as by agent and tracer (common/wire/log_streams.h), at scripted times; the test can damage its words.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/log/mapped_log.h"
#include "common/wire/log_streams.h"

namespace heaptap::test {

inline log::LogOptions options_of(uint64_t chunk_memory_bytes, uint64_t max_bytes = UINT64_MAX) {
  log::LogOptions options;
  options.chunk_memory_bytes = chunk_memory_bytes;
  options.max_bytes = max_bytes;
  return options;
}

class ScriptedLog {
 public:
  static constexpr uint32_t kChunks = 64;

  explicit ScriptedLog(uint64_t log_bytes = uint64_t{kChunks} * wire::kChunkBytes)
      : memory_(*log::LogMemory::create(options_of(log_bytes))),
        log_(memory_->header()),
        writers_(memory_->header(), memory_->header()) {}

  [[nodiscard]] wire::LogHeader& log() const { return log_; }
  [[nodiscard]] const log::LogParts& parts() const { return memory_->parts(); }
  wire::StreamSlot& slot(uint32_t index) { return writers_.log().slot(index); }
  wire::ChunkHeader& chunk(uint32_t index) { return writers_.log().chunk(index); }
  uint8_t* chunk_bytes(uint32_t index) { return reinterpret_cast<uint8_t*>(&chunk(index)); }

  // Opens a stream and returns its slot; its times count from `base_time`.
  uint32_t open(uint32_t thread_number, uint64_t base_time) {
    wire::LogStream stream{};
    const bool begun = writers_.begin(stream, {1000 + thread_number, thread_number}, base_time);
    EXPECT_TRUE(begun) << "the test's log is too small";
    if (!begun) return 0;
    wire::end_activity(*stream.slot);
    const auto index = static_cast<uint32_t>(stream.slot - &slot(0));
    if (streams_.size() <= index) streams_.resize(index + 1);
    streams_[index] = stream;
    return index;
  }

  void allocate(uint32_t stream, uint64_t time, uint64_t address, uint64_t size = 1, uint32_t stack = 0) {
    constexpr uint8_t kMalloc = 1;
    put(stream, time, wire::make_tagged_address(wire::RecordKind::kAllocate, kMalloc, address), size, stack);
  }
  void release(uint32_t stream, uint64_t time, uint64_t address) {
    constexpr uint8_t kFree = 5;
    put(stream, time, wire::make_tagged_address(wire::RecordKind::kRelease, kFree, address), 0, 0);
  }
  // Appends bytes that no writer would produce.
  void append(uint32_t stream, const void* bytes, size_t size) {
    in_record(stream, [&](wire::LogStream& to) {
      std::memcpy(to.cursor, bytes, size);
      to.cursor += size;
      wire::commit(to);
    });
  }
  void note(uint32_t stream, wire::NoteKind kind, const std::vector<uint64_t>& words) {
    const wire::Record head{0, static_cast<uint32_t>(words.size() * sizeof(uint64_t)),
                            wire::make_tagged_address(wire::RecordKind::kNote, static_cast<uint8_t>(kind), 0)};
    std::vector<uint64_t> whole(sizeof(head) / sizeof(uint64_t));
    std::memcpy(whole.data(), &head, sizeof(head));
    whole.insert(whole.end(), words.begin(), words.end());
    append(stream, whole.data(), whole.size() * sizeof(uint64_t));
  }
  void next_chunk(uint32_t stream) {
    EXPECT_TRUE(writers_.next_chunk(streams_[stream], streams_[stream].base_time)) << "the test's log is too small";
    wire::end_activity(slot(stream));
  }
  void end(uint32_t stream) { writers_.end(streams_[stream]); }
  [[nodiscard]] uint32_t current_chunk(uint32_t stream) {
    const auto bytes = reinterpret_cast<const uint8_t*>(streams_[stream].chunk) - chunk_bytes(0);
    return static_cast<uint32_t>(bytes / wire::kChunkBytes);
  }

  // The free chunks, from the top of the stack; none if the list is cyclic.
  [[nodiscard]] std::optional<std::vector<uint32_t>> free_chunks() {
    std::vector<uint32_t> found;
    auto at = static_cast<uint32_t>(log_.free_chunks.load());
    for (; at != wire::kNoChunk; at = chunk(at).free_link.load()) {
      if (found.size() > log_.chunk_count) return std::nullopt;
      found.push_back(at);
    }
    return found;
  }

 private:
  // Writes records; a stream held in the middle of a record stays there.
  template <typename Put>
  void in_record(uint32_t stream, const Put& put) {
    const bool is_in_the_middle = wire::is_in_record(slot(stream).activity.load());
    if (!is_in_the_middle) wire::begin_activity(slot(stream));
    wire::LogStream& to = streams_[stream];
    if (wire::has_room(to) || writers_.next_chunk(to, to.base_time)) {
      put(to);
    } else {
      ADD_FAILURE() << "the test's log is too small";
    }
    if (!is_in_the_middle) wire::end_activity(slot(stream));
  }
  void put(uint32_t stream, uint64_t time, uint64_t tagged_address, uint64_t size, uint32_t stack) {
    in_record(stream, [&](wire::LogStream& to) { wire::write_record(to, time, tagged_address, size, stack); });
  }

  std::unique_ptr<log::LogMemory> memory_;
  wire::LogHeader& log_;
  wire::LogStreams<log::MappedLog> writers_;
  std::vector<wire::LogStream> streams_;  // by slot
};

}  // namespace heaptap::test
