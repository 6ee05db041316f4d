// What an analysis is made of: the facts of a capture, its tables, events in batches, totals, leak scans. A trace file gives
// them (trace/trace_reader.h), or one that is followed while it is written.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/capture.h"
#include "model/event.h"
#include "model/heap_scan.h"
#include "model/mark.h"
#include "model/note.h"
#include "model/tables.h"
#include "model/totals.h"

namespace heaptap::model {

// Gets the events in order. The tables are complete for everything that the batch refers to.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual void on_batch(const EventBatch& batch, const Tables& tables) = 0;
  // Totals in place of blocks' events; the last ones hold.
  virtual void on_totals(const Totals& /*totals*/, const Tables& /*tables*/) {}
};

struct ReplayOptions {
  bool events = true;      // false: the tables and the facts alone
  bool addresses = false;  // fill Event::address of allocations (may cost time)
  // Frames are decoded by a thread of their own, ahead of the sink (which is always called in the caller's). Changes
  // nothing of what comes. Empty: where there is more than one processor.
  std::optional<bool> decoder_thread = {};
  // Of a file that is followed: return when so many bytes of it were taken, though there is more; 0: never.
  uint64_t pause_after_bytes = 0;
  // Of a file that is followed: whether who writes it is there, where the file's system has no locks that tell. Then a frame that
  // isn't whole is on its way, and no damage.
  std::function<bool()> writer_lives = {};
  // Called now and then with the bytes read so far and the file's size.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// A leak scan without its blocks, pointers and roots.
struct ScanSummary {
  HeapScan facts;
  uint64_t block_count = 0;
  uint64_t pointer_count = 0;
  uint64_t root_count = 0;
  uint64_t frame_count = 0;   // that follow its head in a file
  uint64_t stored_bytes = 0;  // of its frames in the file; not in the head itself
};

class EventSource {
 public:
  EventSource() = default;
  EventSource(EventSource&&) = default;
  EventSource& operator=(EventSource&&) = default;
  virtual ~EventSource() = default;

  // Gives all events once. May be called again; each call starts from the beginning.
  virtual base::Result<> replay(EventSink& sink, const ReplayOptions& options) = 0;

  // Complete after replay().
  [[nodiscard]] virtual const Capture& capture() const = 0;
  [[nodiscard]] virtual const Tables& tables() const = 0;

  // The leak scans that are whole, in order. Of others `scan_notes` says why they can't be used.
  [[nodiscard]] virtual const std::vector<ScanSummary>& scans() const = 0;
  [[nodiscard]] virtual const std::vector<Note>& scan_notes() const = 0;
  // One of scans(), with all that it holds. Needs no replay, and changes nothing of what one gave: another thread may replay
  // meanwhile.
  virtual base::Result<HeapScan> load_scan(size_t index) = 0;

  // In the order of their numbers; known before a replay, as the scans are.
  [[nodiscard]] virtual const std::vector<Mark>& marks() const {
    static const std::vector<Mark> none;
    return none;
  }

  // As the program gave them, the last one of a block holds; known before a replay.
  [[nodiscard]] virtual const std::vector<BlockName>& block_names() const {
    static const std::vector<BlockName> none;
    return none;
  }
};

}  // namespace heaptap::model
