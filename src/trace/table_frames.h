// The payloads of the frames that extend the tables: what is new in each since the last such frame. Writer and reader.
// A reader adds only what holds together: every number refers to something that came before.
#pragma once
#include <span>

#include "model/tables.h"
#include "trace/byte_buffer.h"
#include "wire/varint.h"

namespace heaptap::trace {

// How many entries of each table were written already.
struct TableCounts {
  size_t modules = 0;
  size_t codes = 0;
  size_t stacks = wire::kRootCount;  // the roots are there from the start
  size_t sites = 0;
  size_t threads = 0;
  size_t labels = 1;  // the first one is none
};

// Each writes entries [from, end) of its table.
void write_modules(ByteBuffer& out, const std::vector<model::Module>& modules, size_t from);
void write_codes(ByteBuffer& out, const std::vector<model::Code>& codes, size_t from);
void write_stacks(ByteBuffer& out, const std::vector<model::Stack>& stacks, size_t from);
// The same for one who doesn't keep those before: these are numbered from `first` on.
void write_new_stacks(ByteBuffer& out, std::span<const model::Stack> stacks, size_t first);
void write_sites(ByteBuffer& out, const std::vector<model::Site>& sites, size_t from);
void write_labels(ByteBuffer& out, const std::vector<model::Label>& labels, size_t from);
void write_threads(ByteBuffer& out, const std::vector<model::Thread>& threads, size_t from);

// Behind the entries: the number of the first one.
void write_first_number(ByteBuffer& out, uint64_t first);
// 0 where the payload is too short to have one.
uint64_t first_number_of(const wire::VarintReader& payload);

// Each adds what the payload holds; false where it is damaged (what was added before that stays).
bool read_modules(wire::VarintReader& in, model::Tables& tables);
bool read_codes(wire::VarintReader& in, model::Tables& tables);
bool read_stacks(wire::VarintReader& in, model::Tables& tables);
bool read_sites(wire::VarintReader& in, model::Tables& tables);
// The same for one who doesn't know all codes or stacks, with the number of them or these.
inline constexpr uint64_t kAnyCode = uint64_t{1} << 32;
bool read_stacks(wire::VarintReader& in, uint64_t code_count, std::vector<model::Stack>& stacks);
// Sites refer to entries of these below these numbers.
struct SiteLimits {
  uint64_t stacks = uint64_t{1} << 32;
  uint64_t labels = wire::kMaxLabels;
};
bool read_sites(wire::VarintReader& in, const SiteLimits& limits, std::vector<model::Site>& sites);
bool read_labels(wire::VarintReader& in, model::Tables& tables);
bool read_threads(wire::VarintReader& in, model::Tables& tables);

// Tables as they are before the first frame: with the roots.
model::Tables empty_tables();

}  // namespace heaptap::trace
