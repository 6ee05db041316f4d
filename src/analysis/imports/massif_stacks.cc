#include "analysis/imports/massif_stacks.h"

#include <charconv>
#include <vector>

#include "analysis/imports/massif.h"

namespace heaptap::imports {
namespace {

constexpr size_t kMaxMassifStacks = size_t{1} << 24;

struct Label {
  uint64_t address = 0;
  std::string_view function;
  std::string_view file;
  std::string_view module;
  uint32_t line = 0;
};

// "(FILE:LINE)" or "(in MODULE)", with the brackets.
void take_place(std::string_view place, Label& label) {
  const std::string_view inner = place.substr(1, place.size() - 2);
  if (inner.starts_with("in ")) {
    label.module = inner.substr(3);
    return;
  }
  const size_t colon = inner.rfind(':');
  if (colon == inner.npos) return;
  const auto [end, error] = std::from_chars(inner.data() + colon + 1, inner.data() + inner.size(), label.line);
  if (error == std::errc() && end == inner.data() + inner.size()) label.file = inner.substr(0, colon);
}

// "0x4B058CB: _IO_file_doallocate (filedoalloc.c:101)"; names of functions may contain brackets and spaces.
std::optional<Label> label_of(std::string_view text) {
  Label label;
  if (!text.starts_with("0x")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), label.address, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.starts_with(": ")) return std::nullopt;
  text.remove_prefix(2);
  label.function = text;
  const size_t open = text.ends_with(')') ? text.rfind(" (") : text.npos;
  if (open != text.npos) {
    take_place(text.substr(open + 1), label);
    if (!label.file.empty() || !label.module.empty()) label.function = text.substr(0, open);
  }
  if (label.function == "???") label.function = {};
  return label;
}

std::string_view address_text(std::string_view label) {
  return label.starts_with("0x") ? label.substr(0, label.find(':')) : std::string_view();
}

}  // namespace

MassifStacks::MassifStacks(model::Tables& tables) : tables_(tables), names_(std::make_shared<NameTable>()) {
  tables_.names = names_;
  tables_.stacks.resize(wire::kRootCount);
}

std::optional<BytesByStack> MassifStacks::stacks_of(const MassifSnapshot& snapshot) {
  const std::vector<MassifNode>& nodes = snapshot.nodes;
  // The callers' bytes are part of the node's; the rest belongs to a stack that ends there.
  std::vector<uint64_t> own(nodes.size());
  std::vector<size_t> path;
  std::vector<size_t> callee(nodes.size());
  std::vector<uint32_t> callers(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    own[i] = nodes[i].bytes;
    path.resize(nodes[i].depth);
    if (!path.empty()) {
      callee[i] = path.back();
      ++callers[callee[i]];
      if (own[callee[i]] < nodes[i].bytes) return std::nullopt;
      own[callee[i]] -= nodes[i].bytes;
    }
    path.push_back(i);
  }
  // One address with two names in a row: the inner function was inlined into the outer one.
  std::vector<bool> inlined(nodes.size());
  for (size_t i = 1; i < nodes.size(); ++i) {
    const std::string_view address = address_text(nodes[i].label);
    if (callers[callee[i]] == 1 && !address.empty() && address == address_text(nodes[callee[i]].label) &&
        nodes[i].label != nodes[callee[i]].label)
      inlined[callee[i]] = true;
  }
  std::vector<model::CodeId> codes(nodes.size());
  for (size_t i = 1; i < nodes.size(); ++i) {
    const auto code = code_of(nodes[i].label, inlined[i]);
    if (!code) return std::nullopt;
    codes[i] = *code;
  }
  BytesByStack bytes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (own[i] == 0) continue;
    auto id = std::optional(static_cast<model::StackId>(wire::StackEnd::kComplete));
    for (size_t at = i; at != 0 && id; at = callee[at]) id = stack(*id, codes[at]);
    if (!id) return std::nullopt;
    bytes[*id] += own[i];
  }
  return bytes;
}

std::optional<model::StackId> MassifStacks::not_detailed() {
  const auto code = named(kNotDetailed);
  return code ? stack(static_cast<model::StackId>(wire::StackEnd::kComplete), *code) : std::nullopt;
}

std::optional<uint32_t> MassifStacks::string(std::string_view text) {
  if (text.empty()) return 0;
  const auto [found, is_new] = strings_.try_emplace(std::string(text));
  if (is_new) {
    const auto number = names_->add_string(text);
    if (!number) return std::nullopt;
    found->second = *number;
  }
  return found->second;
}

std::optional<model::CodeId> MassifStacks::named(std::string_view name) {
  const auto function = string(name);
  if (!function) return std::nullopt;
  const NamedFrame frame{*function, 0, 0};
  return names_->add_code(0, 0, {&frame, 1}, tables_);
}

std::optional<model::CodeId> MassifStacks::code_of(std::string_view text, bool is_inlined) {
  const auto label = label_of(text);
  if (!label) return named(text.starts_with("in ") ? kBelowThreshold : text);
  const auto function = string(label->function);
  const auto file = string(label->file);
  const auto module = string(label->module);
  if (!function || !file || !module) return std::nullopt;
  const NamedFrame frame{*function, *file, label->line, is_inlined};
  const bool has_names = *function != 0 || *file != 0;
  return names_->add_code(label->address, *module, {&frame, has_names ? 1U : 0U}, tables_);
}

std::optional<model::StackId> MassifStacks::stack(model::StackId caller, model::CodeId code) {
  const auto [found, is_new] = stacks_.try_emplace({caller, code}, static_cast<model::StackId>(tables_.stacks.size()));
  if (!is_new) return found->second;
  if (tables_.stacks.size() >= kMaxMassifStacks) return std::nullopt;
  tables_.stacks.push_back({.parent = caller, .code = code});
  return found->second;
}

}  // namespace heaptap::imports
