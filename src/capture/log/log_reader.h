// Reader of a log: drains the records of the threads' streams, merges them by time, gives chunks back. Used by one
// thread. Its input was written by another process and is not trusted.
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

#include "capture/log/chunk_lender.h"
#include "capture/log/chunk_memory.h"
#include "capture/log/log_clock.h"
#include "capture/log/log_parts.h"
#include "capture/log/node_room.h"
#include "common/base/unfilled_allocator.h"
#include "common/model/capture.h"
#include "common/wire/log.h"
#include "common/wire/raw_event.h"

namespace heaptap::log {

using RawEvents = std::vector<wire::RawEvent, base::UnfilledAllocator<wire::RawEvent>>;

struct StreamEnd {
  uint32_t thread_id;
  uint32_t thread_number;
};

class LogReader {
 public:
  // Maximum bytes of the log's chunks held here, besides the few records not passed on yet.
  static constexpr uint64_t kMaxKeptBytes = uint64_t{64} << 20;

  explicit LogReader(const LogParts& log);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Appends the next events known to be in order, a bounded number. `last`: the target is gone, nothing more comes.
  // Returns the number of bytes of records read (a measure of the target's activity).
  uint64_t drain(RawEvents& events, bool last);

  // Visits all events present, in order, a bounded number at a time; call while no thread writes. They stay in the log,
  // and drain() delivers them as well: before any event written later, even if that seems older.
  void look_ahead(const std::function<void(const RawEvents&)>& visit);
  // Whether drain() has yet to deliver some of these events.
  [[nodiscard]] bool has_looked_ahead() const { return look_.has_value(); }

  // Call before others have the log: its chunks are lent. They are allocated before use, unless this side is late, and
  // their pages freed when unused for a second. Without a lender all chunks are usable as they are.
  void borrow_from(ChunkLender& lender, ChunkMemory memory);

  // Lowers kMaxKeptBytes where memory is short: then the log is full sooner, if the target is faster than this side.
  void set_max_kept(uint64_t bytes) { max_kept_ = static_cast<uint32_t>(bytes / wire::kChunkBytes); }

  // Until wake_up() the agent rings (capture/log/log_waker.h) when the log fills.
  void rest();
  void wake_up();

  // Whether the last drain left records in the log, since it takes a bounded number.
  [[nodiscard]] bool has_unread() const { return has_unread_; }
  // Whether everything read was delivered, and the last drain left nothing in the log. (A drain may read nothing and
  // leave something, if it had to deliver held events first.)
  [[nodiscard]] bool is_empty() const;

  // All events up to this time were delivered by the last drain, as far as is known.
  [[nodiscard]] uint64_t complete_until() const { return complete_until_; }

  // Takes the text of a delivered note (its number is in place of a stack); once.
  std::string take_text(uint32_t number);

  // Threads seen since the last call: number and the kernel's id.
  std::vector<StreamEnd> take_new_threads();

  [[nodiscard]] uint64_t lost_events() const;
  // Calls that the threads have counted, where blocks are sampled; ascending by thread.
  [[nodiscard]] std::vector<model::ThreadCalls> calls() const;
  [[nodiscard]] uint32_t damaged_streams() const { return damaged_streams_; }
  // Number of chunks usable by now, and usable with few threads.
  [[nodiscard]] uint32_t usable_chunks() const { return usable_chunks_ - static_cast<uint32_t>(withdrawn_.size()); }
  [[nodiscard]] uint32_t chunk_limit() const { return std::max(start_chunks_, usable_chunks()); }
  [[nodiscard]] uint32_t max_chunks_used() const { return max_chunks_used_; }

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
  uint32_t usable_chunks_;  // all below were usable at some time, except the withdrawn ones
  std::vector<uint32_t> withdrawn_;
  ChunkLender* lender_ = nullptr;
  NodeRoom node_room_;
  std::optional<ChunkMemory> memory_;
  uint32_t made_chunks_ = 0;      // from the first one on
  uint32_t freed_lately_ = 0;     // since pages were last freed
  uint32_t max_used_lately_ = 0;  // since the last check for unused chunks
  uint64_t written_lately_ = 0;   // bytes
  std::chrono::steady_clock::time_point looked_at_;
  std::chrono::steady_clock::time_point asked_at_{};
  std::vector<std::unique_ptr<Stream>> streams_;  // by slot
  uint32_t stream_count_ = 0;
  // By slot: the stream's activity when all of it was read and delivered; kToBeRead: not so. While it is unchanged, the
  // stream is skipped: of many threads, most are idle.
  std::vector<uint32_t> quiet_at_;
  std::vector<Stream*> active_;  // the others, as of the last drain
  std::vector<StreamEnd> new_threads_;
  std::map<uint32_t, std::string> texts_;  // of notes, by number, not taken yet
  uint32_t text_count_ = 0;
  uint64_t published_;  // what the log's coarse_clock was raised to
  uint64_t settled_;    // its previous value: only busy threads may still write older records
  uint64_t complete_until_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t lost_ended_ = 0;                      // by ended streams
  uint64_t lost_living_ = 0;                     // by the others, as of the last read
  std::vector<model::ThreadCalls> ended_calls_;  // of ended streams
  uint32_t damaged_streams_ = 0;
  uint32_t chunks_in_use_ = 0;
  uint32_t max_chunks_used_ = 0;
  uint32_t freed_ = 0;
  uint32_t kept_ = 0;  // chunks
  uint32_t max_kept_ = kMaxKeptBytes / wire::kChunkBytes;
  std::vector<std::unique_ptr<uint8_t[]>> spare_;  // for chunks that were kept
  bool has_dropped_ = false;                       // memory of others, which the allocator still has
  bool has_unread_ = false;
  const bool only_looks_ = false;  // leaves what it reads in place
  std::optional<uint64_t> look_;   // settled_ at the look-ahead, up to which events are drained
  struct Front {
    uint64_t time;  // of the stream's next event
    Stream* stream;
  };
  std::vector<Front> fronts_;  // of the streams being merged: a heap, oldest first
};

}  // namespace heaptap::log
