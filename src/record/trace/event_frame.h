// Payload of an event frame: a batch of events in columns, compressed separately so that a reader can skip some. A
// frame depends on earlier frames only through the tables. Writer and reader.
//
//   counts │ columns: time marks, thread runs, ranks, misses, fresh, sizes, releases, addresses, ranges, bad releases, memory
//
//   ranks, misses, fresh   the site of each event, see site_coder.h
//   sizes      of each allocation: 0 if equal to that of the site's last allocation in this frame, else size + 1
//   releases   of each release: 0 if its block is the guessed one (release_guess.h), 1 for an unknown one, else the distance
//              from the block of the previous release, or the number of allocations since its own
//   addresses  of each allocation without a release in this frame: distance from the last such one, zigzag.
//              Addresses of blocks allocated and released within a frame are not kept
//   ranges     of each map, unmap and protect: distance of the start from the last one's, zigzag; length
//   bad releases  of each release without a known block: its facts
//   memory     of each map and protect: kind of memory (common/wire/mapping.h), a byte. Frames of older traces end before it
#pragma once
#include <span>

#include "common/frames/byte_buffer.h"
#include "common/model/event.h"
#include "common/model/tables.h"
#include "common/wire/functions.h"
#include "common/wire/varint.h"
#include "record/trace/compression.h"
#include "record/trace/release_guess.h"
#include "record/trace/site_coder.h"
#include "record/trace/table_builder.h"

namespace heaptap::trace {

inline constexpr int kEventLevel = 2;  // of zstd

class EventFrameWriter {
 public:
  explicit EventFrameWriter(int level) : compressor_(level) { guess_.begin(); }

  // Adds a batch to the frame; batches of a few thousand events stay in the processor's cache. The first one has the
  // number of the frame's first block.
  void add(const model::EventBatch& batch, std::span<const model::Site> sites);
  [[nodiscard]] size_t event_count() const { return event_count_; }
  // Payload of the frame, valid until the next call. The next batch begins another frame.
  const frames::ByteBuffer& finish(uint64_t resolution_ns);
  // A frame of one batch.
  const frames::ByteBuffer& write(const model::EventBatch& batch, std::span<const model::Site> sites,
                                  uint64_t resolution_ns) {
    add(batch, sites);
    return finish(resolution_ns);
  }

 private:
  // State of a site in the frame; more of it is in sites_.model().
  struct SiteState {
    SiteModel::LocalSite local = 0;  // 0: no local number yet
    model::EventKind kind{};
    wire::Family family{};
  };
  void add_marks(const model::EventBatch& batch);
  void add_events(const model::EventBatch& batch, std::span<const model::Site> sites);
  // State used for every event of a batch, kept local while it is added.
  struct Pass {
    uint8_t* sizes;  // write positions of the columns
    uint8_t* releases;
    uint64_t* allocated;  // by number within the frame
    SiteEncoder::Cursor sites;
    ReleaseGuess::Cursor guess;
    model::BlockNumber before_first;  // plus a number within the frame gives the block's number
    model::BlockNumber last_named;
  };
  Pass begin_pass(size_t events);
  void end_pass(const Pass& pass);
  SiteState begin_site(model::SiteId site, const model::Site& facts);
  void add_allocation(const model::Event& event, SiteState site, Pass& pass);
  void add_release(const model::Event& event, SiteState site, Pass& pass);
  void add_range(const model::Event& event, model::EventKind kind);
  void end_thread_run(size_t end);
  void write_marks(uint64_t resolution_ns);
  void write_addresses();
  void write_bad_releases();
  void append_column(const frames::ByteBuffer& column);
  void clear();

  Compressor compressor_;
  frames::ByteBuffer payload_, time_marks_, threads_, sizes_, releases_, addresses_, ranges_, bad_releases_, memory_;
  SiteEncoder sites_;
  ReleaseGuess guess_;
  size_t event_count_ = 0;
  model::BlockNumber first_block_ = 1;
  model::BlockNumber next_block_ = 1;
  model::BlockNumber last_named_ = 1;  // by a release; initially first_block_
  uint64_t last_range_ = 0;
  model::ThreadId thread_ = 0;              // of the last run
  size_t run_begin_ = 0;                    // its first event
  std::vector<SiteState> states_;           // by site
  std::vector<model::SiteId> frame_sites_;  // with a local number
  std::vector<uint64_t> allocated_;         // address of each of the frame's allocations, with spare room
  std::vector<model::TimeMark> marks_;
  std::vector<model::BadRelease> bad_;
};

class EventFrameReader {
 public:
  // Begins a frame. Its events come in batches of a few thousand, which stay in the processor's cache; in one batch
  // where addresses are requested, or releases are undone, since these need the whole frame. The payload may be
  // discarded after this. False here and below: damaged payload.
  bool begin(wire::VarintReader& in, const model::Tables& tables, uint64_t resolution_ns, bool with_addresses);
  // Reads the frame's next events. Each batch begins with a time mark.
  bool next(const model::Tables& tables, model::EventBatch& batch);
  [[nodiscard]] bool at_end() const { return done_ == count_; }

  // Reads a whole frame as one batch.
  bool read(wire::VarintReader& in, const model::Tables& tables, uint64_t resolution_ns, bool with_addresses,
            model::EventBatch& batch);

  [[nodiscard]] uint64_t event_count() const { return count_; }
  // Whether it refers to sites that are missing in the tables, or were made up.
  [[nodiscard]] bool names_missing(const TableBuilder& tables) const {
    return sites_.names_unknown() || sites_.names([&](model::SiteId site) { return tables.is_missing(site); });
  }
  [[nodiscard]] model::BlockNumber first_block() const { return first_block_; }
  // Number of the next allocation after the events read so far.
  [[nodiscard]] model::BlockNumber next_block() const { return next_block_; }

 private:
  static constexpr uint64_t kBatchEvents = 8192;
  struct Column {
    std::vector<uint8_t> bytes;
    wire::VarintReader reader;
  };
  bool read_marks(wire::VarintReader& in, uint64_t resolution_ns);
  bool read_column(wire::VarintReader& in, Column* column);
  bool read_bad_releases(wire::VarintReader& in, size_t site_count);
  bool next_events(uint64_t most, const model::Tables& tables, model::EventBatch& batch);
  void take_marks(model::EventBatch& batch);
  bool take_bad_releases(const model::Tables& tables, model::EventBatch& batch);
  bool next_thread();
  bool read_events(const model::Tables& tables, model::EventBatch& batch);
  bool read_allocation(model::Event& event, ReleaseGuess::Cursor& guess);
  bool read_release(model::Event& event, ReleaseGuess::Cursor& guess);
  void read_range(model::Event& event, model::EventKind kind);
  bool read_addresses(const model::Tables& tables, model::EventBatch& batch);

  Decompressor decompressor_;
  Column marks_column_, threads_, ranks_, misses_, fresh_, sizes_, releases_, addresses_, ranges_, bad_column_, memory_;
  SiteDecoder sites_;
  ReleaseGuess guess_;
  std::vector<bool> released_;
  std::vector<model::TimeMark> marks_;
  std::vector<model::BadRelease> bad_;

  bool with_addresses_ = false;
  bool in_one_batch_ = false;
  uint64_t count_ = 0;  // in the frame
  uint64_t done_ = 0;   // events that were read
  size_t mark_ = 0;     // marks and bad releases delivered
  size_t bad_release_ = 0;
  model::BlockNumber first_block_ = 1;
  model::BlockNumber next_block_ = 1;
  model::BlockNumber last_named_ = 1;
  uint64_t last_range_ = 0;
  model::ThreadId thread_ = 0;
  uint64_t thread_run_ = 0;  // its remaining events
  uint64_t runs_left_ = 0;   // events of later runs
};

}  // namespace heaptap::trace
