#include "common/frames/table_frames.h"

#include <algorithm>
#include <span>

#include "common/base/byte_span.h"
#include "common/base/large_allocator.h"
#include "common/wire/frame.h"

namespace heaptap::frames {
namespace {

constexpr uint64_t kExactBit = 1;
// A bit of a module's flags that isn't one of its own.
constexpr uint64_t kModuleFileBit = 8;

bool read_text(wire::VarintReader& in, std::string& text) {
  const std::span<const uint8_t> bytes = in.sized_bytes();
  text = base::text_of(bytes);
  return in.ok();
}

constexpr size_t kLeastEntryBytes = 1;

}  // namespace

void write_first_number(ByteBuffer& out, uint64_t first) { wire::put_u64(out.append(wire::kFirstNumberBytes), first); }

uint64_t first_number_of(const wire::VarintReader& payload) {
  if (payload.left() < wire::kFirstNumberBytes) return 0;
  return wire::get_u64(payload.here() + payload.left() - wire::kFirstNumberBytes);
}

model::Tables empty_tables() {
  model::Tables tables;
  tables.stacks.resize(wire::kRootCount, model::Stack{0, 0});
  tables.labels.resize(1);
  return tables;
}

void write_modules(ByteBuffer& out, const std::vector<model::Module>& modules, size_t from) {
  out.varint(modules.size() - from);
  for (size_t i = from; i < modules.size(); ++i) {
    const model::Module& module = modules[i];
    out.text(module.path);
    out.text(module.build_id);
    out.varint(module.start);
    out.varint(module.end - module.start);
    out.signed_varint(static_cast<int64_t>(module.start - module.bias));
    out.varint(module.generation);
    const uint64_t flags = module.flags & ~kModuleFileBit;
    out.varint(module.file.empty() ? flags : flags | kModuleFileBit);
    if (!module.file.empty()) out.text(module.file);
  }
}

bool read_modules(wire::VarintReader& in, model::Tables& tables) {
  const size_t count = in.entry_count(kLeastEntryBytes);
  if (!in.ok()) return false;
  for (size_t i = 0; i < count; ++i) {
    model::Module module;
    if (!read_text(in, module.path) || !read_text(in, module.build_id)) return false;
    module.start = in.varint();
    module.end = module.start + in.varint();
    module.bias = module.start - static_cast<uint64_t>(in.signed_varint());
    module.generation = static_cast<uint32_t>(in.varint());
    const uint64_t flags = in.varint();
    if ((flags & kModuleFileBit) != 0 && !read_text(in, module.file)) return false;
    module.flags = static_cast<uint8_t>(flags & ~kModuleFileBit);
    if (!in.ok() || module.end < module.start) return false;
    tables.modules.push_back(std::move(module));
  }
  return true;
}

void write_codes(ByteBuffer& out, const std::vector<model::Code>& codes, size_t from) {
  out.varint(codes.size() - from);
  uint64_t previous = 0;
  for (size_t i = from; i < codes.size(); ++i) {
    out.signed_varint(static_cast<int64_t>(codes[i].address - previous));
    out.varint(uint64_t{codes[i].generation} << 1 | (codes[i].exact ? kExactBit : 0));
    previous = codes[i].address;
  }
}

bool read_codes(wire::VarintReader& in, model::Tables& tables) {
  const size_t count = in.entry_count(kLeastEntryBytes);
  if (!in.ok()) return false;
  uint64_t previous = 0;
  for (size_t i = 0; i < count; ++i) {
    previous += static_cast<uint64_t>(in.signed_varint());
    const uint64_t flags = in.varint();
    if (!in.ok()) return false;
    tables.codes.push_back({previous, static_cast<uint32_t>(flags >> 1), (flags & kExactBit) != 0});
  }
  return true;
}

void write_stacks(ByteBuffer& out, const std::vector<model::Stack>& stacks, size_t from) {
  write_new_stacks(out, std::span(stacks).subspan(from), from);
}

// Column by column, which compresses better than entry by entry.
void write_new_stacks(ByteBuffer& out, std::span<const model::Stack> stacks, size_t first) {
  out.varint(stacks.size());
  for (size_t i = 0; i < stacks.size(); ++i)
    out.varint(first + i - stacks[i].parent);  // at least 1: parents come first
  model::CodeId previous = 0;
  for (const model::Stack& stack : stacks) {
    out.signed_varint(static_cast<int64_t>(stack.code) - static_cast<int64_t>(previous));
    previous = stack.code;
  }
}

bool read_stacks(wire::VarintReader& in, model::Tables& tables) {
  return read_stacks(in, tables.codes.size(), tables.stacks);
}

bool read_stacks(wire::VarintReader& in, uint64_t code_count, std::vector<model::Stack>& stacks) {
  const size_t count = in.entry_count(kLeastEntryBytes);
  if (!in.ok()) return false;
  const size_t first = stacks.size();
  base::make_room(stacks, first + count);
  bool sound = true;
  for (size_t i = 0; i < count && sound; ++i) {
    const uint64_t distance = in.varint();
    sound = in.ok() && distance > 0 && distance <= first + i;
    stacks.push_back({static_cast<model::StackId>(first + i - distance), 0});
  }
  int64_t code = 0;
  for (size_t i = 0; i < count && sound; ++i) {
    code += in.signed_varint();
    sound = in.ok() && code >= 0 && static_cast<uint64_t>(code) < code_count;
    stacks[first + i].code = static_cast<model::CodeId>(code);
  }
  if (!sound) stacks.resize(first);
  return sound;
}

void write_sites(ByteBuffer& out, const std::vector<model::Site>& sites, size_t from) {
  out.varint(sites.size() - from);
  for (size_t i = from; i < sites.size(); ++i) out.varint(static_cast<uint64_t>(sites[i].kind));
  for (size_t i = from; i < sites.size(); ++i) out.varint(static_cast<uint64_t>(sites[i].function));
  model::StackId previous = 0;
  for (size_t i = from; i < sites.size(); ++i) {
    out.signed_varint(static_cast<int64_t>(sites[i].stack) - static_cast<int64_t>(previous));
    previous = sites[i].stack;
  }
  const auto is_labelled = [](const model::Site& site) { return site.label != 0; };
  if (std::none_of(sites.begin() + static_cast<ptrdiff_t>(from), sites.end(), is_labelled)) return;
  for (size_t i = from; i < sites.size(); ++i) out.varint(sites[i].label);
}

bool read_sites(wire::VarintReader& in, model::Tables& tables) {
  return read_sites(in, {.stacks = tables.stacks.size(), .labels = std::max<size_t>(tables.labels.size(), 1)},
                    tables.sites);
}

bool read_sites(wire::VarintReader& in, const SiteLimits& limits, std::vector<model::Site>& sites) {
  const size_t count = in.entry_count(kLeastEntryBytes);
  if (!in.ok()) return false;
  const size_t first = sites.size();
  base::make_room(sites, first + count);
  sites.resize(first + count, model::Site{});
  bool sound = true;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t kind = in.varint();
    sound = sound && kind >= 1 && kind <= static_cast<uint64_t>(model::kLastEventKind);
    sites[first + i].kind = static_cast<model::EventKind>(kind);
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t function = in.varint();
    sound = sound && function < wire::kFunctionCount;
    sites[first + i].function = static_cast<wire::Function>(function);
  }
  int64_t stack = 0;
  for (size_t i = 0; i < count && sound; ++i) {
    stack += in.signed_varint();
    sound = stack >= 0 && static_cast<uint64_t>(stack) < limits.stacks;
    sites[first + i].stack = static_cast<model::StackId>(stack);
  }
  // Since 2.6, and if a site has one. An unknown label is none: frames may be missing.
  const bool has_labels = sound && in.ok() && in.left() > wire::kFirstNumberBytes;
  for (size_t i = 0; i < count && has_labels; ++i) {
    const uint64_t label = in.varint();
    sound = sound && label < limits.labels;
    sites[first + i].label = static_cast<model::LabelId>(label);
  }
  sound = sound && in.ok();
  if (!sound) sites.resize(first);
  return sound;
}

void write_labels(ByteBuffer& out, const std::vector<model::Label>& labels, size_t from) {
  out.varint(labels.size() - from);
  for (size_t i = from; i < labels.size(); ++i) {
    out.varint(labels[i].parent);
    out.varint(static_cast<uint64_t>(labels[i].kind));
    out.text(labels[i].name);
  }
}

bool read_labels(wire::VarintReader& in, model::Tables& tables) {
  const size_t count = in.entry_count(kLeastEntryBytes);
  if (!in.ok()) return false;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t parent = in.varint();
    const uint64_t kind = in.varint();
    model::Label label;
    if (!read_text(in, label.name) || !in.ok() || parent >= tables.labels.size()) return false;
    label.parent = static_cast<model::LabelId>(parent);
    // Kinds of later versions are plain names.
    const auto known = static_cast<uint64_t>(wire::LabelKind::kFunction);
    label.kind = kind != 0 && kind <= known ? static_cast<wire::LabelKind>(kind) : wire::LabelKind::kTag;
    tables.labels.push_back(std::move(label));
  }
  return true;
}

void write_threads(ByteBuffer& out, const std::vector<model::Thread>& threads, size_t from) {
  out.varint(threads.size() - from);
  for (size_t i = from; i < threads.size(); ++i) {
    out.varint(threads[i].number);
    out.varint(threads[i].kernel_id);
    out.text(threads[i].name);
  }
}

bool read_threads(wire::VarintReader& in, model::Tables& tables) {
  const size_t count = in.entry_count(kLeastEntryBytes);
  if (!in.ok()) return false;
  for (size_t i = 0; i < count; ++i) {
    model::Thread thread;
    thread.number = static_cast<model::ThreadId>(in.varint());
    thread.kernel_id = static_cast<uint32_t>(in.varint());
    if (!read_text(in, thread.name) || !in.ok()) return false;
    tables.threads.push_back(std::move(thread));
  }
  return true;
}

}  // namespace heaptap::frames
