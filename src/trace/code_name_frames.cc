#include "trace/code_name_frames.h"

#include <utility>

namespace heaptap::trace {

std::vector<model::Frame> KnownCodeNames::frames_of(model::CodeId code) const {
  const auto found = names_.find(code);
  if (found == names_.end()) return {};
  model::Frame frame;
  frame.function = found->second.name;
  frame.offset = frame.address = found->second.address;
  return {std::move(frame)};
}

bool KnownCodeNames::add(model::CodeName name, uint64_t address) {
  constexpr size_t kMaxTextBytes = size_t{64} << 20;
  if (name.name.size() > model::kMaxCodeNameBytes || text_bytes_ + name.name.size() > kMaxTextBytes) return false;
  text_bytes_ += name.name.size();
  names_.insert_or_assign(name.code, Named{std::move(name.name), address});
  return true;
}

void write_code_names(ByteBuffer& out, const std::vector<model::CodeName>& names) {
  out.varint(names.size());
  for (const model::CodeName& name : names) {
    out.varint(name.code);
    out.text(name.name);
  }
}

bool read_code_names(wire::VarintReader& in, const std::vector<model::Code>& codes, KnownCodeNames& names) {
  constexpr uint64_t kLeastNameBytes = 2;
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left() / kLeastNameBytes) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t code = in.varint();
    const uint64_t bytes = in.varint();
    const uint8_t* const text = in.bytes(bytes);
    if (!in.ok() || text == nullptr || bytes > model::kMaxCodeNameBytes) return false;
    if (code >= codes.size()) continue;  // frames may be missing
    std::string name(reinterpret_cast<const char*>(text), bytes);
    if (!names.add({static_cast<model::CodeId>(code), std::move(name)}, codes[code].address)) return false;
  }
  return true;
}

}  // namespace heaptap::trace
