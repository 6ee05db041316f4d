// The payload of an event frame: a batch of events as columns, each compressed by itself so that a reader may leave out
// what it doesn't need. A frame needs nothing of the frames before it but the tables. Writer and reader.
//
//   counts │ time marks │ thread runs │ columns: sites, values, addresses, ranges, bad releases
//
//   sites      the site of each event
//   values     allocation: 0 if the size is that of the site's last allocation in this frame, else size + 1
//              release: how many allocations ago its block was made (1: the last one), 0 for a block that isn't known
//   addresses  allocation: distance from the last one's address, in zigzag form
//   ranges     map, unmap: distance of the start from the last range's start in zigzag form, length
//   bad releases  of each release without a known block: what was found out about it
#pragma once
#include "host/intake/byte_buffer.h"
#include "host/intake/compression.h"
#include "host/model/event.h"
#include "host/model/tables.h"
#include "wire/varint.h"

namespace heaptap::intake {

class EventFrameWriter {
 public:
  explicit EventFrameWriter(int level) : compressor_(level) {}

  // The payload, valid until the next call.
  const ByteBuffer& write(const model::EventBatch& batch, const std::vector<model::Site>& sites, uint64_t resolution_ns);

 private:
  void write_marks(const model::EventBatch& batch, uint64_t resolution_ns);
  void write_threads(const model::EventBatch& batch);
  void write_events(const model::EventBatch& batch, const std::vector<model::Site>& sites);
  void write_bad_releases(const model::EventBatch& batch);
  void append_column(const ByteBuffer& column);

  Compressor compressor_;
  ByteBuffer payload_, sites_, values_, addresses_, ranges_, bad_releases_;
  std::vector<uint64_t> last_sizes_;  // by site: size + 1 of its last allocation in this frame
};

class EventFrameReader {
 public:
  // Fills the batch; false where the payload is damaged (the batch is then of no use).
  bool read(wire::VarintReader& in, const model::Tables& tables, uint64_t resolution_ns, bool with_addresses,
            model::EventBatch& batch);

 private:
  struct Column {
    std::vector<uint8_t> bytes;
    wire::VarintReader reader;
  };
  bool read_marks(wire::VarintReader& in, uint64_t resolution_ns, model::EventBatch& batch);
  bool read_threads(wire::VarintReader& in, model::EventBatch& batch);
  bool read_column(wire::VarintReader& in, Column* column);
  bool read_events(const model::Tables& tables, bool with_addresses, model::EventBatch& batch);
  bool read_bad_releases(const model::Tables& tables, model::EventBatch& batch);

  Decompressor decompressor_;
  Column sites_, values_, addresses_, ranges_, bad_releases_;
  std::vector<uint64_t> last_sizes_;
};

}  // namespace heaptap::intake
