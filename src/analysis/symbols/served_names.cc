#include "analysis/symbols/served_names.h"

#include <algorithm>
#include <utility>

namespace heaptap::symbols {
namespace {

uint64_t instruction_of(const model::Module& module, const model::Code& code) {
  return code.address - module.bias - (code.exact ? 0 : 1);
}

}  // namespace

const std::vector<model::Frame>* ServedNames::frames_at(const model::Module& module, const model::Tables& tables,
                                                        const model::Code& code) {
  const uint64_t address = instruction_of(module, code);
  if (!frames_.contains(address)) ask(module, tables, code);
  const auto& known = frames_.at(address);
  return known ? &*known : nullptr;
}

void ServedNames::ask(const model::Module& module, const model::Tables& tables, const model::Code& first) {
  std::vector<uint64_t> addresses;
  const auto want = [&](const model::Code& code) {
    const uint64_t address = instruction_of(module, code);
    if (frames_.try_emplace(address).second) addresses.push_back(address);
  };
  want(first);
  // Codes are numbered in the order of their first use: a client that needs one is likely to need the following ones.
  const std::vector<model::Code>& codes = tables.codes;
  const bool is_inside = !codes.empty() && &first >= codes.data() && &first < codes.data() + codes.size();
  for (size_t i = is_inside ? static_cast<size_t>(&first - codes.data()) : 0; i < codes.size(); ++i) {
    if (addresses.size() == kAtOnce) break;
    const model::Code& code = codes[i];
    if (code.address >= module.start && code.address <= module.end && tables.module_of(code) == &module) want(code);
  }
  auto answers = source_.frames_at(build_id_, addresses);
  const size_t count = std::min(answers.size(), addresses.size());
  for (size_t i = 0; i < count; ++i) {
    if (!answers[i].empty()) frames_[addresses[i]] = std::move(answers[i]);
  }
}

const Variable* ServedNames::variable_at(uint64_t address, bool is_thread_local) {
  auto& known = variables_[is_thread_local];
  const auto [place, is_new] = known.try_emplace(address);
  if (is_new) place->second = source_.variable_at(build_id_, address, is_thread_local);
  return place->second ? &*place->second : nullptr;
}

}  // namespace heaptap::symbols
