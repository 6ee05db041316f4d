#include "analysis/imports/name_table.h"

#include <algorithm>

namespace heaptap::imports {
namespace {

constexpr size_t kMaxStrings = size_t{1} << 26;
constexpr uint64_t kMaxStringBytes = uint64_t{1} << 30;
// A few bytes of a file can repeat a long name many times: bound of the total.
constexpr uint64_t kMaxShownBytes = uint64_t{1} << 30;
constexpr size_t kMaxCodes = size_t{1} << 24;

void put(std::string& key, uint64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

}  // namespace

std::optional<uint32_t> NameTable::add_string(std::string_view text) {
  if (strings_.size() >= kMaxStrings || string_bytes_ + text.size() > kMaxStringBytes) return std::nullopt;
  string_bytes_ += text.size();
  strings_.emplace_back(text);
  return static_cast<uint32_t>(strings_.size());
}

const std::string& NameTable::string(uint32_t number) const {
  static const std::string none;
  return number == 0 || number > strings_.size() ? none : strings_[number - 1];
}

std::optional<model::CodeId> NameTable::add_code(uint64_t address, uint32_t module, std::span<const NamedFrame> frames,
                                                 model::Tables& tables) {
  std::string key;
  put(key, address);
  put(key, module);
  for (const NamedFrame& frame : frames) {
    for (const uint32_t number : {frame.function, frame.file, frame.line, uint32_t{frame.is_inlined}}) put(key, number);
  }
  const auto [found, is_new] = known_.try_emplace(std::move(key), static_cast<model::CodeId>(codes_.size()));
  if (!is_new) return found->second;
  uint64_t shown = string(module).size() * (frames.size() + 1);
  for (const NamedFrame& frame : frames) shown += string(frame.function).size() + string(frame.file).size();
  if (codes_.size() >= kMaxCodes || shown_bytes_ + shown > kMaxShownBytes) return std::nullopt;
  shown_bytes_ += shown;
  codes_.push_back({address, module, frames_.size(), frames.size()});
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  // Codes without an address, for instance, have the same one: the generation distinguishes them.
  tables.codes.push_back({.address = address, .generation = static_cast<uint32_t>(codes_.size()), .exact = false});
  is_module_.resize(strings_.size() + 1);
  if (module != 0 && module < is_module_.size() && !is_module_[module]) {
    is_module_[module] = true;
    tables.modules.push_back({.path = string(module), .build_id = {}});  // its address is unknown
  }
  return found->second;
}

std::vector<model::Frame> NameTable::frames_of(model::CodeId code) const {
  const Named& named = codes_[code];
  std::vector<model::Frame> frames(std::max<size_t>(named.frame_count, 1));
  for (size_t i = 0; i < frames.size(); ++i) {
    model::Frame& frame = frames[i];
    frame.module = string(named.module);
    frame.address = frame.offset = named.address;  // its offset in the module is unknown
    if (named.frame_count == 0) continue;
    const NamedFrame& names = frames_[named.first_frame + i];
    frame.inlined = i + 1 < frames.size() || names.is_inlined;
    frame.function = string(names.function);
    frame.file = string(names.file);
    frame.line = names.line;
  }
  return frames;
}

}  // namespace heaptap::imports
