// Source of an analysis: facts of a capture, its tables, events in batches, totals, leak scans. Implemented for a trace
// file (record/trace/trace_reader.h), complete or still being written.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/capture.h"
#include "common/model/event.h"
#include "common/model/heap_scan.h"
#include "common/model/mark.h"
#include "common/model/note.h"
#include "common/model/resident.h"
#include "common/model/tables.h"
#include "common/model/totals.h"

namespace heaptap::model {

// Receiver of the events, in order. The tables are complete for everything that a batch refers to.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual void on_batch(const EventBatch& batch, const Tables& tables) = 0;
  // Totals in place of block events; later ones replace earlier ones.
  virtual void on_totals(const Totals& /*totals*/, const Tables& /*tables*/) {}
};

struct ReplayOptions {
  bool events = true;      // false: only tables and facts
  bool addresses = false;  // fill Event::address of allocations (may cost time)
  // Decodes frames in a separate thread, ahead of the sink (which is always called in the caller's). Doesn't change the
  // result. Empty: if there is more than one processor.
  std::optional<bool> decoder_thread = {};
  // For a followed file: returns after this many bytes, even if there are more; 0: never.
  uint64_t pause_after_bytes = 0;
  // For a followed file: whether its writer is alive, on file systems without locks that show it. Then an incomplete
  // frame is still being written, and not damage.
  std::function<bool()> writer_lives = {};
  // Called periodically with the bytes read so far and the file's size.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// Leak scan without its blocks, pointers and roots.
struct ScanSummary {
  HeapScan facts;
  uint64_t block_count = 0;
  uint64_t pointer_count = 0;
  uint64_t root_count = 0;
  uint64_t frame_count = 0;   // number of frames after its head in a file
  uint64_t stored_bytes = 0;  // of its frames in the file; not stored in the head itself
};

class EventSource {
 public:
  EventSource() = default;
  EventSource(EventSource&&) = default;
  EventSource& operator=(EventSource&&) = default;
  virtual ~EventSource() = default;

  // Delivers all events once. May be called again; each call starts from the beginning.
  virtual base::Result<> replay(EventSink& sink, const ReplayOptions& options) = 0;

  // Complete after replay().
  [[nodiscard]] virtual const Capture& capture() const = 0;
  [[nodiscard]] virtual const Tables& tables() const = 0;

  // Complete leak scans, in order. `scan_notes` explains why others are unusable.
  [[nodiscard]] virtual const std::vector<ScanSummary>& scans() const = 0;
  [[nodiscard]] virtual const std::vector<Note>& scan_notes() const = 0;
  // Loads one of scans() with all its data. Needs no replay and doesn't affect one: another thread may replay at the
  // same time.
  virtual base::Result<HeapScan> load_scan(size_t index) = 0;

  // In the order of their numbers; known before a replay, like the scans.
  [[nodiscard]] virtual const std::vector<Mark>& marks() const {
    static const std::vector<Mark> none;
    return none;
  }

  // In the program's order, the last one of a block counts; known before a replay.
  [[nodiscard]] virtual const std::vector<BlockName>& block_names() const {
    static const std::vector<BlockName> none;
    return none;
  }

  // Samples of the process's resident memory, in order; complete after replay(). Empty: unknown.
  [[nodiscard]] virtual const std::vector<ResidentSample>& resident() const {
    static const std::vector<ResidentSample> none;
    return none;
  }
};

}  // namespace heaptap::model
