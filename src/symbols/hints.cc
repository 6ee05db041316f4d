#include "symbols/hints.h"

#include <fmt/format.h>

#include <algorithm>

namespace heaptap::symbols {

void Hints::count(const std::string& path, SymbolSource source, const std::vector<model::Frame>& frames) {
  const model::Frame& outermost = frames.back();
  if (!outermost.function.empty() && outermost.line != 0) return;
  // With DWARF at hand the address is of code that has none, such as an assembler's or the linker's: nothing to be done.
  if (source == SymbolSource::kFull) return;
  Lack& lack = lacks_[path];
  lack.source = source;
  lack.without_name += outermost.function.empty() ? 1 : 0;
  lack.without_line += 1;
}

std::vector<std::string> Hints::sentences(size_t limit) const {
  std::vector<std::pair<const std::string*, const Lack*>> order;
  for (const auto& [path, lack] : lacks_) order.emplace_back(&path, &lack);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.second->without_name != b.second->without_name) return a.second->without_name > b.second->without_name;
    return a.second->without_line > b.second->without_line;
  });
  std::vector<std::string> result;
  for (const auto& [path, lack] : order) {
    if (result.size() >= limit) break;
    result.push_back(sentence(*path, *lack));
  }
  return result;
}

std::string Hints::sentence(const std::string& path, const Lack& lack) const {
  const size_t slash = path.rfind('/');
  const std::string name = slash == path.npos ? path : path.substr(slash + 1);
  const std::string package =
      path.starts_with("/usr/") || path.starts_with("/lib")
          ? fmt::format("install its debug symbols (find-dbgsym-packages {} names the package), ", path)
          : std::string();
  const char* servers = asked_debuginfod_ ? "" : " or --debuginfod";
  switch (lack.source) {
    case SymbolSource::kNoFile:
      return fmt::format("{} is not on this machine: pass --sysroot DIR or --symbols DIR with a copy of {}{}", name,
                         path, asked_debuginfod_ ? "" : ", or --debuginfod");
    case SymbolSource::kReplaced:
      return fmt::format(
          "{} was replaced since the trace was recorded (its build-id differs), so it is not used: pass --symbols DIR "
          "with the file of then",
          path);
    case SymbolSource::kExportsOnly:
      return fmt::format("{} is stripped: functions without {}; {}pass --symbols DIR with its debug file{}", name,
                         lack.without_name > 0 ? "names" : "lines", package, servers);
    case SymbolSource::kNames:
    case SymbolSource::kFull:
      break;
  }
  return fmt::format("{} has no line information: {}build it with -g, or pass --symbols DIR with its debug file{}",
                     name, package, servers);
}

}  // namespace heaptap::symbols
