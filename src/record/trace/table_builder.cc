#include "record/trace/table_builder.h"

#include <algorithm>

#include "common/frames/table_frames.h"

namespace heaptap::trace {
namespace {

using wire::FrameType;

constexpr const char* kTooLarge = "a table has more entries than a trace of this size can hold";
constexpr auto kMissing = static_cast<model::StackId>(wire::StackEnd::kMissing);

size_t size_of(FrameType type, const model::Tables& tables) {
  switch (type) {
    case FrameType::kModules:
      return tables.modules.size();
    case FrameType::kCodes:
      return tables.codes.size();
    case FrameType::kStacks:
      return tables.stacks.size();
    case FrameType::kSites:
      return tables.sites.size();
    case FrameType::kThreads:
      return tables.threads.size();
    case FrameType::kLabels:
      return tables.labels.size();
    default:
      return 0;
  }
}

}  // namespace

const char* TableBuilder::take(FrameType type, wire::VarintReader payload, model::Tables& tables) {
  if (!is_wanted(type)) return nullptr;
  if (is_too_large(type, payload, tables)) return kTooLarge;
  // Threads have numbers of their own.
  const bool has_order = type != FrameType::kThreads;
  if (has_order && !is_numbered_ && has_gaps_) return kUnsound;
  if (has_order && is_numbered_ && !go_on_at(frames::first_number_of(payload), type, tables)) return kUnsound;
  if (!read(type, payload, tables)) return kUnsound;
  if (has_gaps_ && type == FrameType::kCodes) keep_a_code(tables);
  return nullptr;
}

// Made-up stacks have to name one.
void TableBuilder::keep_a_code(model::Tables& tables) {
  if (!tables.codes.empty()) return;
  tables.codes.push_back({0, 0, false});
  made_up_code_ = true;
}

bool TableBuilder::is_wanted(FrameType type) const {
  if (type == FrameType::kSites) return true;
  if (type == FrameType::kModules) return wants_ != Wants::kSites;
  return wants_ == Wants::kAll && is_table(type);
}

// Frames that are small in the file may unpack to much more, since entries of a program that repeats itself are alike.
// So each table is limited to what a usual log can hold, and to more in a larger file.
uint64_t TableBuilder::max_entries(FrameType type) const {
  constexpr uint64_t kEntriesAByte = 16;
  const uint64_t usual = type == FrameType::kStacks    ? uint64_t{1} << 23
                         : type == FrameType::kThreads ? uint64_t{wire::kMaxThreads}
                         : type == FrameType::kModules ? uint64_t{1} << 16
                         : type == FrameType::kLabels  ? uint64_t{wire::kMaxLabels}
                                                       : uint64_t{1} << 20;
  return std::min(usual + kEntriesAByte * file_bytes_, uint64_t{1} << 31);
}

bool TableBuilder::is_too_large(FrameType type, wire::VarintReader payload, const model::Tables& tables) {
  constexpr uint64_t kUsualTextBytes = uint64_t{64} << 20;
  constexpr uint64_t kTextBytesAByte = 64;
  if (type == FrameType::kModules || type == FrameType::kThreads || type == FrameType::kLabels) {
    text_bytes_ += payload.left();
    if (text_bytes_ > kUsualTextBytes + kTextBytesAByte * file_bytes_) return true;
  }
  const uint64_t most = max_entries(type);
  return payload.varint() > most - std::min<uint64_t>(size_of(type, tables), most);
}

// Makes up the missing entries before this number.
bool TableBuilder::go_on_at(uint64_t first, FrameType type, model::Tables& tables) {
  if (type == FrameType::kCodes && made_up_code_ && first == 0) tables.codes.clear();
  if (type == FrameType::kCodes) made_up_code_ = false;
  const size_t size = size_of(type, tables);
  if (first == size) return true;
  if (!has_gaps_ || first < size || first > max_entries(type)) return false;
  switch (type) {
    case FrameType::kModules:
      tables.modules.resize(first);
      break;
    case FrameType::kCodes:
      tables.codes.resize(first, model::Code{0, 0, false});
      break;
    case FrameType::kStacks:
      tables.stacks.resize(first, model::Stack{kMissing, 0});
      set(missing_stacks_, size, first);
      break;
    case FrameType::kLabels:
      tables.labels.resize(first);
      break;
    default:
      tables.sites.resize(first, model::Site{model::EventKind::kAllocate, wire::Function{}, kMissing});
      set(missing_sites_, size, first);
      break;
  }
  return true;
}

bool TableBuilder::read(FrameType type, wire::VarintReader& payload, model::Tables& tables) {
  switch (type) {
    case FrameType::kModules:
      return frames::read_modules(payload, tables);
    case FrameType::kCodes:
      return frames::read_codes(payload, tables);
    case FrameType::kStacks:
      return has_gaps_ ? read_stacks_with_gaps(payload, tables) : frames::read_stacks(payload, tables);
    case FrameType::kSites:
      return read_labelled_sites(payload, tables);
    case FrameType::kLabels:
      return frames::read_labels(payload, tables);
    default:
      return frames::read_threads(payload, tables);
  }
}

bool TableBuilder::read_stacks_with_gaps(wire::VarintReader& payload, model::Tables& tables) {
  const size_t begin = tables.stacks.size();
  if (!frames::read_stacks(payload, frames::kAnyCode, tables.stacks)) return false;
  keep_a_code(tables);
  for (size_t i = begin; i < tables.stacks.size(); ++i) {
    model::Stack& stack = tables.stacks[i];
    if (is_set(missing_stacks_, stack.parent)) stack.parent = kMissing;
    if (stack.code < tables.codes.size() && !made_up_code_) continue;
    stack = {kMissing, 0};
    set(missing_stacks_, i, i + 1);
  }
  return true;
}

// Labels that may be missing become none.
bool TableBuilder::read_labelled_sites(wire::VarintReader& payload, model::Tables& tables) {
  const size_t begin = tables.sites.size();
  const bool wants_all = wants_ == Wants::kAll;
  const bool is_read = !wants_all  ? frames::read_sites(payload, frames::SiteLimits(), tables.sites)
                       : has_gaps_ ? read_sites_with_gaps(payload, tables)
                                   : frames::read_sites(payload, tables);
  for (size_t i = begin; is_read && i < tables.sites.size(); ++i) {
    model::LabelId& label = tables.sites[i].label;
    if (label >= tables.labels.size()) label = 0;
  }
  return is_read;
}

bool TableBuilder::read_sites_with_gaps(wire::VarintReader& payload, model::Tables& tables) {
  const size_t begin = tables.sites.size();
  if (!frames::read_sites(payload, frames::SiteLimits(), tables.sites)) return false;
  for (size_t i = begin; i < tables.sites.size(); ++i) {
    model::StackId& stack = tables.sites[i].stack;
    if (stack >= tables.stacks.size() || is_set(missing_stacks_, stack)) stack = kMissing;
  }
  return true;
}

void TableBuilder::set(std::vector<bool>& bits, size_t begin, size_t end) {
  if (bits.size() < end) bits.resize(end);
  std::fill(bits.begin() + static_cast<std::ptrdiff_t>(begin), bits.begin() + static_cast<std::ptrdiff_t>(end), true);
}

}  // namespace heaptap::trace
