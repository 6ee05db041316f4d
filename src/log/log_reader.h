// Drains a log: takes records out of the threads' streams, puts them in order of time, gives chunks back. Used by one
// thread. What it reads was written by another process and is trusted in nothing.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unfilled_allocator.h"
#include "log/chunk_lender.h"
#include "log/chunk_memory.h"
#include "log/log_clock.h"
#include "log/log_parts.h"
#include "wire/log.h"
#include "wire/raw_event.h"

namespace heaptap::log {

using RawEvents = std::vector<wire::RawEvent, base::UnfilledAllocator<wire::RawEvent>>;

struct StreamEnd {
  uint32_t thread_id;
  uint32_t thread_number;
};

class LogReader {
 public:
  // Of the log's chunks so much is held here at most, besides the few records that aren't handed on yet.
  static constexpr uint64_t kMaxKeptBytes = uint64_t{64} << 20;

  explicit LogReader(const LogParts& log);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Appends the events that are known to be next in order, a bounded number of them. `last`: the target is gone, nothing
  // more comes. Returns how many bytes of records were read (a measure of how busy the target is).
  uint64_t drain(RawEvents& events, bool last);

  // All that is there, in order, a bounded number of events at a time; where nobody writes at the moment. It stays in the log, and
  // drain() hands it on as well: before anything that is written later, also where that seems older.
  void look_ahead(const std::function<void(const RawEvents&)>& visit);
  // drain() has yet to hand on some of what was looked at.
  [[nodiscard]] bool has_looked_ahead() const { return look_.has_value(); }

  // Before others have the log: its chunks are borrowed. They are made before they are used, where this side isn't late, and their pages
  // given back when they were free for a second. Without a lender all may be used, as they are.
  void borrow_from(ChunkLender& lender, ChunkMemory memory);

  // Less than kMaxKeptBytes, where memory is short: then the log is full sooner, where the target is faster than this.
  void set_most_kept(uint64_t bytes) { most_kept_ = static_cast<uint32_t>(bytes / wire::kChunkBytes); }

  // Until wake_up() the agent rings (log/log_waker.h) when the log fills.
  void rest();
  void wake_up();

  // The last drain left records in the log, since it takes a bounded number of them.
  [[nodiscard]] bool has_unread() const { return has_unread_; }
  // Nothing is held here that was read but not handed on, and the last drain left nothing in the log. (It may have read
  // nothing and left something, where it had to hand on first what was held here.)
  [[nodiscard]] bool is_empty() const;

  // All events up to this time were handed on by the last drain, for all that is known.
  [[nodiscard]] uint64_t complete_until() const { return complete_until_; }

  // The text of a note that was handed on (in place of a stack); once.
  std::string take_text(uint32_t number);

  // Threads seen since the last call: number and kernel id.
  std::vector<StreamEnd> take_new_threads();

  [[nodiscard]] uint64_t lost_events() const;
  [[nodiscard]] uint32_t damaged_streams() const { return damaged_streams_; }
  // How many chunks may be used by now, and how many where threads are few.
  [[nodiscard]] uint32_t usable_chunks() const { return usable_chunks_ - static_cast<uint32_t>(withdrawn_.size()); }
  [[nodiscard]] uint32_t chunk_limit() const { return std::max(start_chunks_, usable_chunks()); }
  [[nodiscard]] uint32_t most_chunks_used() const { return most_chunks_used_; }

 private:
  struct Stream;
  struct LookOnly {};

  LogReader(const LogReader& other, LookOnly);
  void pass_look();
  void publish(uint64_t now);
  bool grow();
  [[nodiscard]] uint32_t wanted_chunks(bool& for_threads) const;
  [[nodiscard]] uint32_t add_chunks(uint32_t count);
  void make_ahead();
  void look_for_unused();
  void withdraw(uint32_t count);
  void rest_unused(uint32_t surplus);
  [[nodiscard]] uint32_t pop_free_chunk();
  [[nodiscard]] uint32_t take_free_chunk();
  bool is_alone();
  uint32_t used_slots();
  [[nodiscard]] bool is_open(uint32_t index) const;
  void find_active();
  void begin_stream(uint32_t index);
  void settle_active();
  void retire(Stream& stream);
  void keep_chunks();
  bool keep_chunk(Stream& stream);
  void go_on(Stream& stream, uint32_t next);
  void read_stream(Stream& stream);
  bool read_chunk(Stream& stream);
  bool read_kept(Stream& stream);
  void give_up(Stream& stream);
  bool read_records(Stream& stream, const uint8_t* chunk, uint32_t committed);
  static wire::RawEvent* read_usual_records(Stream& stream, const uint8_t* chunk, uint32_t committed,
                                            wire::RawEvent* event);
  bool read_note(Stream& stream, const wire::SizedRecord& note, const uint8_t* at, uint32_t left,
                 wire::RawEvent*& event);
  bool read_other_record(Stream& stream, const uint8_t* chunk, uint32_t committed, wire::RawEvent*& event);
  void free_chunk(uint32_t index);
  void merge(RawEvents& events, uint64_t until);
  void sift_down();
  [[nodiscard]] wire::StreamSlot& slot(uint32_t index) const;
  [[nodiscard]] wire::ChunkHeader& chunk(uint32_t index) const;

  wire::LogHeader& log_;
  LogClock clock_;
  const std::span<wire::StreamSlot> slots_;
  const std::span<uint8_t> chunks_;
  const uint32_t chunk_count_;
  const uint32_t start_chunks_;
  const bool writers_wait_;
  uint32_t usable_chunks_;  // all below were ever usable; but those that are withdrawn now
  std::vector<uint32_t> withdrawn_;
  ChunkLender* lender_ = nullptr;
  std::optional<ChunkMemory> memory_;
  uint32_t made_chunks_ = 0;       // from the first one on
  uint32_t freed_lately_ = 0;      // since pages were given back
  uint32_t most_used_lately_ = 0;  // since the last look for what isn't used
  uint64_t written_lately_ = 0;    // bytes
  std::chrono::steady_clock::time_point looked_at_;
  std::chrono::steady_clock::time_point asked_at_{};
  std::vector<std::unique_ptr<Stream>> streams_;  // by slot
  uint32_t stream_count_ = 0;
  // By slot: what the stream's activity was when everything of it was read and handed on; kToBeRead: that isn't so. As long as it
  // is that, the stream isn't looked at: where threads are many, most of them are idle.
  std::vector<uint32_t> quiet_at_;
  std::vector<Stream*> active_;  // the others, as of the last drain
  std::vector<StreamEnd> new_threads_;
  std::map<uint32_t, std::string> texts_;  // of notes, by number, that weren't taken yet
  uint32_t text_count_ = 0;
  uint64_t published_;  // what the log's coarse_clock was raised to
  uint64_t settled_;    // what it was before: no thread that isn't busy writes a record any more that is older
  uint64_t complete_until_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t lost_ended_ = 0;   // of streams that ended
  uint64_t lost_living_ = 0;  // of the others, as they were read last
  uint32_t damaged_streams_ = 0;
  uint32_t chunks_in_use_ = 0;
  uint32_t most_chunks_used_ = 0;
  uint32_t freed_ = 0;
  uint32_t kept_ = 0;  // chunks
  uint32_t most_kept_ = kMaxKeptBytes / wire::kChunkBytes;
  std::vector<std::unique_ptr<uint8_t[]>> spare_;  // of chunks that were kept
  bool has_unread_ = false;
  const bool only_looks_ = false;  // what it reads stays where it is
  std::optional<uint64_t> look_;   // settled_ as of the look ahead, up to which it is drained
  struct Front {
    uint64_t time;  // of the stream's next event
    Stream* stream;
  };
  std::vector<Front> fronts_;  // of the streams that are being merged: a heap, the oldest first
};

}  // namespace heaptap::log
