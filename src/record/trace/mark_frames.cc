#include "record/trace/mark_frames.h"

#include <string>

namespace heaptap::trace {
namespace {

constexpr uint64_t kLeastBytes = 6;  // of a mark: each of its fields takes a byte

}  // namespace

void write_marks(frames::ByteBuffer& out, const std::vector<model::Mark>& marks) {
  out.varint(marks.size());
  for (const model::Mark& mark : marks) {
    out.varint(mark.number);
    out.varint(static_cast<uint64_t>(mark.kind));
    out.varint(mark.time_ns);
    out.varint(mark.events_before);
    out.varint(mark.thread);
    out.text(mark.name);
  }
}

bool read_marks(wire::VarintReader& in, std::vector<model::Mark>& marks) {
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left() / kLeastBytes) return false;
  for (uint64_t i = 0; i < count; ++i) {
    model::Mark mark;
    const uint64_t number = in.varint();
    const uint64_t kind = in.varint();
    mark.time_ns = in.varint();
    mark.events_before = in.varint();
    const uint64_t thread = in.varint();
    const uint64_t name_bytes = in.varint();
    const uint8_t* const name = in.bytes(name_bytes);
    if (!in.ok() || number > UINT32_MAX || thread > UINT32_MAX) return false;
    // They come in order.
    if (!marks.empty() && (number <= marks.back().number || mark.events_before < marks.back().events_before))
      return false;
    mark.number = static_cast<uint32_t>(number);
    mark.thread = static_cast<model::ThreadId>(thread);
    mark.name.assign(reinterpret_cast<const char*>(name), name_bytes);
    // Kinds of later versions are treated as plain moments.
    mark.kind = kind <= static_cast<uint64_t>(model::MarkKind::kEarlier) ? static_cast<model::MarkKind>(kind)
                                                                         : model::MarkKind::kNamed;
    marks.push_back(std::move(mark));
  }
  return true;
}

void write_block_names(frames::ByteBuffer& out, const std::vector<model::BlockName>& names) {
  out.varint(names.size());
  for (const model::BlockName& name : names) {
    out.varint(name.block);
    out.text(name.name);
  }
}

bool read_block_names(wire::VarintReader& in, std::vector<model::BlockName>& names) {
  constexpr uint64_t kLeastNameBytes = 2;
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left() / kLeastNameBytes) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const model::BlockNumber block = in.varint();
    const uint64_t bytes = in.varint();
    const uint8_t* const text = in.bytes(bytes);
    if (!in.ok() || text == nullptr) return false;
    names.push_back({block, std::string(reinterpret_cast<const char*>(text), bytes)});
  }
  return true;
}

}  // namespace heaptap::trace
