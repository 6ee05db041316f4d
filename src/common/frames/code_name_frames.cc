#include "common/frames/code_name_frames.h"

#include <span>
#include <utility>

#include "common/base/byte_span.h"

namespace heaptap::frames {

std::vector<model::Frame> KnownCodeNames::frames_of(model::CodeId code) const {
  const auto found = names_.find(code);
  if (found == names_.end()) return {};
  model::Frame frame;
  frame.function = found->second.name;
  frame.offset = frame.address = found->second.address;
  return {std::move(frame)};
}

bool KnownCodeNames::add(model::CodeName name, uint64_t address) {
  if (text_bytes_ + name.name.size() > model::kMaxCodeNamesBytes) return false;
  text_bytes_ += name.name.size();
  names_.insert_or_assign(name.code, Named{std::move(name.name), address});
  return true;
}

void write_code_names(ByteBuffer& out, std::span<const model::CodeName> names) {
  out.varint(names.size());
  for (const model::CodeName& name : names) {
    out.varint(name.code);
    out.text(name.name);
  }
}

bool read_code_names(wire::VarintReader& in, std::vector<model::CodeName>& names) {
  constexpr size_t kLeastNameBytes = 2;
  const size_t count = in.entry_count(kLeastNameBytes);
  if (!in.ok()) return false;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t code = in.varint();
    const std::span<const uint8_t> name = in.sized_bytes();
    if (!in.ok() || name.size() > model::kMaxCodeNameBytes) return false;
    if (code > UINT32_MAX) continue;
    names.push_back({static_cast<model::CodeId>(code), std::string(base::text_of(name))});
  }
  return true;
}

bool add_code_names(std::vector<model::CodeName> read, const std::vector<model::Code>& codes, KnownCodeNames& names) {
  for (model::CodeName& name : read) {
    if (name.code >= codes.size()) continue;  // frames may be missing
    const uint64_t address = codes[name.code].address;
    if (!names.add(std::move(name), address)) return false;
  }
  return true;
}

}  // namespace heaptap::frames
