#include "capture/stream/sent_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/wire/labels.h"

namespace heaptap::stream {
namespace {

uint32_t& at_grown(std::vector<uint32_t>& values, uint32_t index) {
  if (index >= values.size()) values.resize(std::max<size_t>(size_t{index} + 1, values.size() * 2));
  return values[index];
}

}  // namespace

uint32_t SentTables::add_stack_of(uint32_t node) {
  const LabelledStack named = split_label(from_, node);
  const uint32_t stack = stacks_.number_of(
      named.stack, [this](uint32_t parent, uint32_t code_index) { return add_stack({parent, code_of(code_index)}); });
  const model::LabelId label = label_of(named.label);
  if (label == wire::kNoLabel) return stack;
  const uint32_t labelled = add_stack({stack, wire::kLabelCode | label});
  stacks_.set(node, labelled);
  return labelled;
}

uint32_t SentTables::add_stack(const model::Stack& stack) {
  new_stacks_.push_back(stack);
  return static_cast<uint32_t>(written_.stacks + new_stacks_.size() - 1);
}

model::CodeId SentTables::code_of(uint32_t index) {
  const bool is_known = index < from_.code_count();
  uint32_t& number = is_known ? at_grown(codes_, index) : code_of_none_;
  if (number == 0) number = add_code(is_known ? from_.code(index) : 0) + 1;
  return number - 1;
}

model::CodeId SentTables::add_code(uint64_t entry) {
  if (wire::is_named_code(entry)) {
    entry = wire::make_named_code(label_of(wire::named_label(entry)), wire::named_line(entry));
  }
  new_codes_.push_back(model::code_of(entry));
  return static_cast<model::CodeId>(written_.codes + new_codes_.size() - 1);
}

// With those around it, the outermost first.
model::LabelId SentTables::label_of(uint32_t number) {
  std::vector<std::pair<uint32_t, model::Label>> path;
  uint32_t at = number;
  while (at != wire::kNoLabel && known_label(at) == wire::kNoLabel) {
    std::optional<model::Label> label = from_.label(at);
    if (!label) break;
    const uint32_t parent = label->parent;  // a smaller number
    path.emplace_back(std::exchange(at, parent), *std::move(label));
  }
  model::LabelId outer = known_label(at);
  for (auto entry = path.rbegin(); entry != path.rend(); ++entry) {
    entry->second.parent = outer;
    new_labels_.push_back(std::move(entry->second));
    outer = static_cast<model::LabelId>(written_.labels + new_labels_.size() - 1);
    at_grown(labels_, entry->first) = outer;
  }
  return outer;
}

bool SentTables::write_codes(frames::ByteBuffer& out) {
  if (new_codes_.empty()) return false;
  frames::write_codes(out, new_codes_, 0);
  frames::write_first_number(out, written_.codes);
  written_.codes += new_codes_.size();
  written_codes_.insert(written_codes_.end(), new_codes_.begin(), new_codes_.end());
  new_codes_.clear();
  return true;
}

bool SentTables::write_labels(frames::ByteBuffer& out) {
  if (new_labels_.empty()) return false;
  frames::write_labels(out, new_labels_, 0);
  frames::write_first_number(out, written_.labels);
  written_.labels += std::exchange(new_labels_, {}).size();
  return true;
}

bool SentTables::write_stacks(frames::ByteBuffer& out) {
  if (new_stacks_.empty()) return false;
  frames::write_new_stacks(out, new_stacks_, written_.stacks);
  frames::write_first_number(out, written_.stacks);
  written_.stacks += std::exchange(new_stacks_, {}).size();
  return true;
}

}  // namespace heaptap::stream
