// Payloads of scan frames: a leak scan as data, in a head and as many further frames as needed, each with its own columns. Writer and
// reader; byte by byte in docs/wire.md.
//   head      facts of the scan, numbers of its blocks, pointers and roots, number of the frames that follow
//   blocks    sites │ fresh sites │ sizes │ addresses │ numbers │ types │ fresh types │ lives, where not all are alive
//   pointers  runs of pointers of one block: blocks │ counts; then targets │ offsets │ kinds
//   roots     targets │ kinds │ kinds of root │ threads │ addresses │ frames │ modules │ offsets
#pragma once
#include <string>
#include <vector>

#include "common/frames/byte_buffer.h"
#include "common/model/event_source.h"
#include "common/model/heap_scan.h"
#include "common/model/tables.h"
#include "common/wire/varint.h"

namespace heaptap::trace {

// Facts in a scan's head.
using model::ScanSummary;

class ScanFrameWriter {
 public:
  // `scan` must outlive this; its own events_before is ignored.
  ScanFrameWriter(const model::HeapScan& scan, uint64_t events_before);

  // Payload of the next frame, valid until the next call; null: no more.
  const frames::ByteBuffer* next();

 private:
  void write_head();
  void write_blocks();
  void write_sites(size_t begin, size_t end);
  void write_types(size_t begin, size_t end);
  void write_lives(size_t begin, size_t end);
  void write_pointers();
  void write_roots();
  [[nodiscard]] uint64_t frame_count() const;

  const model::HeapScan& scan_;
  uint64_t events_before_;
  uint64_t part_ = 0;                   // number of this scan's next frame
  size_t blocks_ = 0;                   // written so far
  size_t pointers_ = 0;                 // …
  size_t roots_ = 0;                    // …
  size_t pointer_block_ = 0;            // block of the next pointer, or one before it
  std::vector<uint32_t> locals_;        // by site: its number in this frame + 1
  std::vector<uint32_t> block_locals_;  // of each block of this frame
  std::vector<model::SiteId> fresh_;
  std::vector<uint64_t> last_values_;  // by local number
  frames::ByteBuffer payload_;
};

class ScanFrameReader {
 public:
  // `has_notes`: see read_scan_head.
  explicit ScanFrameReader(bool has_notes = true) : has_notes_(has_notes) {}
  // Adds a scan's frames in order. False: damaged, or not the frame expected next; the scan is then unusable. Sites and
  // modules are checked against the tables.
  bool add(wire::VarintReader& in, const model::Tables& tables);

  [[nodiscard]] bool whole() const { return started_ && part_ == head_.frame_count + 1 && counts_match(); }
  // Returns a complete scan; once.
  model::HeapScan take();

 private:
  bool add_blocks(wire::VarintReader& in, const model::Tables& tables);
  bool add_sites(wire::VarintReader& in, size_t begin, const model::Tables& tables);
  bool add_sizes(wire::VarintReader& in, size_t begin);
  bool add_addresses(wire::VarintReader& in, size_t begin, uint64_t shift);
  bool add_types(wire::VarintReader& in, size_t begin);
  bool add_lives(wire::VarintReader& in, size_t begin);
  bool add_pointers(wire::VarintReader& in);
  bool add_runs(wire::VarintReader& in, uint64_t run_count, uint64_t pointer_count);
  bool add_roots(wire::VarintReader& in, const model::Tables& tables);
  void close_blocks_up_to(uint64_t block);
  [[nodiscard]] bool counts_match() const;

  struct Run {
    uint32_t block;
    uint32_t count;
  };

  bool has_notes_;
  bool started_ = false;
  uint64_t part_ = 0;
  ScanSummary head_;
  model::HeapScan scan_;
  std::vector<uint32_t> block_locals_;
  std::vector<model::SiteId> fresh_;
  std::vector<uint64_t> last_values_;
  std::vector<uint64_t> fresh_types_;
  std::vector<Run> runs_;
};

// Whether the payload is a scan's head; then reads it. `has_notes`: notes follow the sentences (since 2.4).
bool read_scan_head(wire::VarintReader& in, ScanSummary& summary, bool has_notes);

}  // namespace heaptap::trace
