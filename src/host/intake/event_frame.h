// The payload of an event frame: a batch of events as columns, each compressed by itself so that a reader may leave out
// what it doesn't need. A frame needs nothing of the frames before it but the tables. Writer and reader.
//
//   counts │ columns: time marks, thread runs, ranks, misses, fresh, sizes, ages, addresses, ranges, bad releases
//
//   ranks, misses, fresh   the site of each event, see site_coder.h
//   sizes      of each allocation: 0 if it is that of the site's last allocation in this frame, else size + 1
//   ages       of each release: 0 if its block is the guessed one (release_guess.h), 1 for one that isn't known, else 1 +
//              how many allocations ago its block was made (1: the last one)
//   addresses  of each allocation that no release in this frame names: distance from the last such one, in zigzag form.
//              Of blocks that come and go within a frame the address is not kept
//   ranges     of each map and unmap: distance of the start from the last one's in zigzag form, length
//   bad releases  of each release without a known block: what was found out about it
#pragma once
#include "host/intake/byte_buffer.h"
#include "host/intake/compression.h"
#include "host/intake/release_guess.h"
#include "host/intake/site_coder.h"
#include "host/model/event.h"
#include "host/model/tables.h"
#include "wire/functions.h"
#include "wire/varint.h"

namespace heaptap::intake {

class EventFrameWriter {
 public:
  explicit EventFrameWriter(int level) : compressor_(level) { guess_.begin(); }

  // Adds a batch to the frame; batches of a few thousand events stay in the processor's cache on their way. The first one
  // says the number of the frame's first block.
  void add(const model::EventBatch& batch, const std::vector<model::Site>& sites);
  [[nodiscard]] size_t event_count() const { return event_count_; }
  // The frame's payload, valid until the next call. The next batch begins another frame.
  const ByteBuffer& finish(uint64_t resolution_ns);
  // A frame of one batch.
  const ByteBuffer& write(const model::EventBatch& batch, const std::vector<model::Site>& sites,
                          uint64_t resolution_ns) {
    add(batch, sites);
    return finish(resolution_ns);
  }

 private:
  // What a frame knows about a site.
  struct SiteState {
    uint64_t last_size = 0;  // + 1
    SiteModel::LocalSite local = 0;
    model::EventKind kind{};
    wire::Family family{};
  };
  static constexpr uint8_t kReleased = 0x80;  // with an allocation's family: in this frame, by its own family's release

  void add_marks(const model::EventBatch& batch);
  void add_threads(const model::EventBatch& batch);
  void add_events(const model::EventBatch& batch, const std::vector<model::Site>& sites);
  void begin_site(model::SiteId site, const model::Site& facts);
  void add_values(const model::Event& event, SiteState& site);
  void add_release(const model::Event& event, const SiteState& site);
  void end_thread_run();
  void write_marks(uint64_t resolution_ns);
  void write_addresses();
  void write_bad_releases();
  void append_column(const ByteBuffer& column);
  void clear();

  Compressor compressor_;
  ByteBuffer payload_, time_marks_, threads_, sizes_, ages_, addresses_, ranges_, bad_releases_;
  SiteEncoder sites_;
  ReleaseGuess guess_;
  size_t event_count_ = 0;
  model::BlockNumber first_block_ = 1;
  model::BlockNumber next_block_ = 1;
  uint64_t last_range_ = 0;
  model::ThreadId thread_ = 0;  // of the run at the end
  size_t thread_run_ = 0;
  std::vector<SiteState> states_;             // by site
  std::vector<model::SiteId> frame_sites_;    // that have a local number
  std::vector<SiteModel::LocalSite> locals_;  // of a batch's events
  std::vector<uint64_t> allocated_;           // address of each of the frame's allocations
  std::vector<uint8_t> families_;             // and its function's family, with kReleased
  std::vector<model::TimeMark> marks_;
  std::vector<model::BadRelease> bad_;
};

class EventFrameReader {
 public:
  // Fills the batch; false where the payload is damaged (the batch is then of no use).
  bool read(wire::VarintReader& in, const model::Tables& tables, uint64_t resolution_ns, bool with_addresses,
            model::EventBatch& batch);
  // How many allocations are in the batch that was read last.
  [[nodiscard]] uint64_t allocations() const { return allocations_; }

 private:
  struct Column {
    std::vector<uint8_t> bytes;
    wire::VarintReader reader;
  };
  bool read_marks(wire::VarintReader& in, uint64_t resolution_ns, model::EventBatch& batch);
  bool read_threads(wire::VarintReader& in, model::EventBatch& batch);
  bool read_column(wire::VarintReader& in, Column* column);
  bool read_events(const model::Tables& tables, model::EventBatch& batch);
  bool read_release(model::BlockNumber first, model::BlockNumber next, model::Event& event);
  bool read_addresses(const model::Tables& tables, model::EventBatch& batch);
  bool read_bad_releases(const model::Tables& tables, model::EventBatch& batch);

  Decompressor decompressor_;
  Column marks_, threads_, ranks_, misses_, fresh_, sizes_, ages_, addresses_, ranges_, bad_releases_;
  SiteDecoder sites_;
  ReleaseGuess guess_;
  std::vector<bool> released_;
  std::vector<uint64_t> last_sizes_;
  uint64_t allocations_ = 0;
};

}  // namespace heaptap::intake
