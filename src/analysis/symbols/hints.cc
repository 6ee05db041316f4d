#include "analysis/symbols/hints.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "common/base/hex_text.h"

namespace heaptap::symbols {
namespace {

model::SymbolHint::Lack lack_of(SymbolSource source, bool has_part, bool is_unreadable) {
  using Lack = model::SymbolHint::Lack;
  if (has_part) return Lack::kParts;
  if (is_unreadable) return Lack::kReadable;
  switch (source) {
    case SymbolSource::kNoFile:
      return Lack::kFile;
    case SymbolSource::kReplaced:
      return Lack::kSameFile;
    case SymbolSource::kExportsOnly:
      return Lack::kSymbols;
    case SymbolSource::kNames:
    case SymbolSource::kFull:
      break;
  }
  return Lack::kLines;
}

}  // namespace

void Hints::count(const Subject& module, SymbolSource source, const ModuleFile* file,
                  const std::vector<model::Frame>& frames) {
  const model::Frame& outermost = frames.back();
  if (!outermost.function.empty() && outermost.line != 0) return;
  // If there is DWARF, the address is in code without it, such as an assembler's or the linker's: no hint can help.
  if (source == SymbolSource::kFull) return;
  Lack& lack = lacks_[module.path];
  lack.source = source;
  if (source == SymbolSource::kReplaced && file != nullptr && lack.other.path.empty()) {
    lack.build_id = module.build_id;
    lack.other = file->other();
  }
  lack.is_unreadable = file != nullptr && file->is_unreadable();
  lack.without_name += outermost.function.empty() ? 1 : 0;
  lack.without_line += 1;
}

namespace {

// libdw's version, if it doesn't support packages.
std::string package_reader() {
  constexpr unsigned kFirstMinor = 191;
  const std::string version = dwfl_version(nullptr);  // 0.188
  unsigned minor = 0;
  const bool is_older = version.starts_with("0.") &&
                        std::from_chars(version.data() + 2, version.data() + version.size(), minor).ec == std::errc{} &&
                        minor < kFirstMinor;
  return is_older ? version : "";
}

}  // namespace

void Hints::count_part(const std::string& path, const std::string& part, bool has_package) {
  Lack& lack = lacks_[path];
  if (lack.part.empty()) lack.part = part;
  lack.has_package = has_package;
  lack.without_line += 1;
}

std::vector<model::SymbolHint> Hints::list(size_t limit) const {
  std::vector<std::pair<const std::string*, const Lack*>> order;
  for (const auto& [path, lack] : lacks_) order.emplace_back(&path, &lack);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.second->without_name != b.second->without_name) return a.second->without_name > b.second->without_name;
    return a.second->without_line > b.second->without_line;
  });
  std::vector<model::SymbolHint> result;
  for (const auto& [path, lack] : order) {
    if (result.size() >= limit) break;
    result.push_back({.path = *path,
                      .lack = lack_of(lack->source, !lack->part.empty(), lack->is_unreadable),
                      .without_names = lack->without_name > 0,
                      .asked_servers = servers_.are_asked,
                      .servers_failure = servers_.failure,
                      .build_id = base::hex_text(lack->build_id),
                      .other_path = lack->other.path,
                      .other_build_id = base::hex_text(lack->other.build_id),
                      .missing_part = lack->part,
                      .has_package = lack->has_package,
                      .package_reader = package_reader()});
  }
  return result;
}

}  // namespace heaptap::symbols
