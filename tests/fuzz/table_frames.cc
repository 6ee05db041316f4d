// Payloads of the frames that extend the tables: what is taken refers only to what came before, and comes out the same
// when it is written and read again. The first byte chooses the table.
#include <cstdint>

#include "common/frames/table_frames.h"
#include "common/wire/frame.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

// Something to refer to.
model::Tables made_up_tables() {
  model::Tables tables = frames::empty_tables();
  for (uint64_t i = 0; i < 40; ++i) tables.codes.push_back({0x400000 + i * 16, static_cast<uint32_t>(i % 3), false});
  for (uint32_t i = 0; i < 30; ++i) tables.stacks.push_back({i, i});
  tables.labels.push_back({0, wire::LabelKind::kTag, "outer"});
  tables.labels.push_back({1, wire::LabelKind::kTag, "inner"});
  tables.sites.push_back({model::EventKind::kAllocate, wire::Function::kMalloc, 20, 2});
  return tables;
}

bool read(unsigned table, wire::VarintReader& in, model::Tables& tables) {
  switch (table) {
    case 0:
      return frames::read_modules(in, tables);
    case 1:
      return frames::read_codes(in, tables);
    case 2:
      return frames::read_stacks(in, tables);
    case 3:
      return frames::read_sites(in, tables);
    case 4:
      return frames::read_labels(in, tables);
    default:
      return frames::read_threads(in, tables);
  }
}

void write(unsigned table, frames::ByteBuffer& out, const model::Tables& tables, const model::Tables& before) {
  switch (table) {
    case 0:
      frames::write_modules(out, tables.modules, before.modules.size());
      break;
    case 1:
      frames::write_codes(out, tables.codes, before.codes.size());
      break;
    case 2:
      frames::write_stacks(out, tables.stacks, before.stacks.size());
      break;
    case 3:
      frames::write_sites(out, tables.sites, before.sites.size());
      break;
    case 4:
      frames::write_labels(out, tables.labels, before.labels.size());
      break;
    default:
      frames::write_threads(out, tables.threads, before.threads.size());
      break;
  }
}

void check(const model::Tables& tables) {
  for (size_t i = wire::kRootCount; i < tables.stacks.size(); ++i) {
    FUZZ_EXPECT(tables.stacks[i].parent < i && tables.stacks[i].code < tables.codes.size());
  }
  for (const model::Site& site : tables.sites) {
    FUZZ_EXPECT(site.stack < tables.stacks.size());
    FUZZ_EXPECT(static_cast<uint8_t>(site.function) < wire::kFunctionCount);
    FUZZ_EXPECT(site.kind >= model::EventKind::kAllocate && site.kind <= model::kLastEventKind);
    FUZZ_EXPECT(site.label < tables.labels.size());
  }
  for (size_t i = 1; i < tables.labels.size(); ++i) {
    FUZZ_EXPECT(tables.labels[i].parent < i && tables.labels[i].kind != wire::LabelKind::kNone);
  }
  for (const model::Module& module : tables.modules) FUZZ_EXPECT(module.start <= module.end);
}

bool equal(const model::Tables& a, const model::Tables& b) {
  const auto same_module = [](const model::Module& x, const model::Module& y) {
    return x.path == y.path && x.build_id == y.build_id && x.bias == y.bias && x.start == y.start && x.end == y.end &&
           x.generation == y.generation && x.flags == y.flags;
  };
  const auto same_code = [](const model::Code& x, const model::Code& y) {
    return x.address == y.address && x.generation == y.generation && x.exact == y.exact;
  };
  const auto same_stack = [](const model::Stack& x, const model::Stack& y) {
    return x.parent == y.parent && x.code == y.code;
  };
  const auto same_site = [](const model::Site& x, const model::Site& y) {
    return x.kind == y.kind && x.function == y.function && x.stack == y.stack && x.label == y.label;
  };
  const auto same_label = [](const model::Label& x, const model::Label& y) {
    return x.parent == y.parent && x.kind == y.kind && x.name == y.name;
  };
  const auto same_thread = [](const model::Thread& x, const model::Thread& y) {
    return x.number == y.number && x.kernel_id == y.kernel_id && x.name == y.name;
  };
  return std::ranges::equal(a.modules, b.modules, same_module) && std::ranges::equal(a.codes, b.codes, same_code) &&
         std::ranges::equal(a.stacks, b.stacks, same_stack) && std::ranges::equal(a.sites, b.sites, same_site) &&
         std::ranges::equal(a.labels, b.labels, same_label) && std::ranges::equal(a.threads, b.threads, same_thread);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const unsigned table = source.take<uint8_t>() % 6;
  const std::span<const uint8_t> payload = source.rest();
  const model::Tables before = made_up_tables();
  model::Tables tables = before;
  wire::VarintReader in(payload.data(), payload.size());
  const bool sound = read(table, in, tables);
  check(tables);
  if (!sound) return 0;
  frames::ByteBuffer written;
  write(table, written, tables, before);
  // A frame ends in the number of its first entry: sites tell by it where labels end.
  wire::put_u64(written.append(wire::kFirstNumberBytes), 0);
  model::Tables copy = before;
  wire::VarintReader again(written.data(), written.size());
  FUZZ_EXPECT(read(table, again, copy) && again.left() == wire::kFirstNumberBytes);
  FUZZ_EXPECT(equal(tables, copy));
  return 0;
}
