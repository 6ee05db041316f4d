// Payloads of the frames that extend the tables: the new entries of each since its last frame. Writer and reader. A
// reader adds only consistent entries: every number refers to an earlier entry.
#pragma once
#include <span>

#include "common/frames/byte_buffer.h"
#include "common/model/tables.h"
#include "common/wire/varint.h"

namespace heaptap::frames {

// Number of entries of each table written so far.
struct TableCounts {
  size_t modules = 0;
  size_t codes = 0;
  size_t stacks = wire::kRootCount;  // roots exist from the start
  size_t sites = 0;
  size_t threads = 0;
  size_t labels = 1;  // the first one stands for no label
};

// Each function writes entries [from, end) of its table.
void write_modules(ByteBuffer& out, const std::vector<model::Module>& modules, size_t from);
void write_codes(ByteBuffer& out, const std::vector<model::Code>& codes, size_t from);
void write_stacks(ByteBuffer& out, const std::vector<model::Stack>& stacks, size_t from);
// As write_stacks(), for a caller without the earlier entries: these are numbered from `first` on.
void write_new_stacks(ByteBuffer& out, std::span<const model::Stack> stacks, size_t first);
void write_sites(ByteBuffer& out, const std::vector<model::Site>& sites, size_t from);
void write_labels(ByteBuffer& out, const std::vector<model::Label>& labels, size_t from);
void write_threads(ByteBuffer& out, const std::vector<model::Thread>& threads, size_t from);

// After the entries: the number of the first one.
void write_first_number(ByteBuffer& out, uint64_t first);
// 0: the payload is too short to have one.
uint64_t first_number_of(const wire::VarintReader& payload);

// Each adds the payload's entries; false: damaged (entries added before that stay).
bool read_modules(wire::VarintReader& in, model::Tables& tables);
bool read_codes(wire::VarintReader& in, model::Tables& tables);
bool read_stacks(wire::VarintReader& in, model::Tables& tables);
bool read_sites(wire::VarintReader& in, model::Tables& tables);
// For a reader that doesn't know all codes or stacks, with their number.
inline constexpr uint64_t kAnyCode = uint64_t{1} << 32;
bool read_stacks(wire::VarintReader& in, uint64_t code_count, std::vector<model::Stack>& stacks);
// Upper bounds of the table indices in sites.
struct SiteLimits {
  uint64_t stacks = uint64_t{1} << 32;
  uint64_t labels = wire::kMaxLabels;
};
bool read_sites(wire::VarintReader& in, const SiteLimits& limits, std::vector<model::Site>& sites);
bool read_labels(wire::VarintReader& in, model::Tables& tables);
bool read_threads(wire::VarintReader& in, model::Tables& tables);

// Initial tables, with the roots.
model::Tables empty_tables();

}  // namespace heaptap::frames
