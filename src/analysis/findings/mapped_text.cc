#include "analysis/findings/mapped_text.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/units.h"

namespace heaptap::findings {
namespace {

using model::MappedKind;

std::string at_most(const report::Totals& totals, const char* what, uint64_t peak_bytes) {
  return totals.peak_mapped_bytes.is_known() ? fmt::format("{}; at most {}", what, base::format_bytes(peak_bytes))
                                             : what;
}

}  // namespace

std::string beside_memory(const model::MappedBytes& mapped) {
  constexpr std::pair<MappedKind, const char*> kOthers[] = {{MappedKind::kReserved, "only reserved"},
                                                            {MappedKind::kFile, "of files"}};
  std::string text;
  for (const auto& [kind, words] : kOthers) {
    const uint64_t bytes = mapped[static_cast<size_t>(kind)];
    if (bytes != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", base::format_bytes(bytes), words);
  }
  return text;
}

model::MappedBytes bytes_of(const model::MappedLevels& mapped) {
  model::MappedBytes bytes{};
  for (size_t kind = 0; kind < bytes.size(); ++kind) bytes[kind] = mapped.kinds[kind].live_bytes;
  return bytes;
}

std::string mapped_behind(const report::StackEntry& stack) {
  const std::string others = stack.mapping ? beside_memory(stack.rare->mapped) : "";
  return others.empty() ? "" : " (besides " + others + ")";
}

std::vector<MappedFact> mapped_facts(const report::Totals& totals) {
  const model::MappedLevels& mapped = totals.mapped;
  std::vector<MappedFact> facts;
  const auto add = [&](const char* name, const model::MappedLevel& level, const char* what) {
    const bool is_any = level.peak_bytes != 0 || level.live_bytes != 0;
    if (is_any) facts.push_back({name, base::format_bytes(level.live_bytes), at_most(totals, what, level.peak_bytes)});
  };
  add("mapped", mapped.memory, "memory by mmap, not counted above");
  add("files", mapped.of(MappedKind::kFile), "mapped from files");
  add("reserved", mapped.of(MappedKind::kReserved), "addresses without memory (PROT_NONE)");
  add("mapped", mapped.of(MappedKind::kUnknown), "by mmap, not counted above: memory, files or reserved");
  return facts;
}

}  // namespace heaptap::findings
