#include "capture/process/memory_map.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::process {
namespace {

// Parses a number, and removes it and the character after it from the text.
bool take_number(std::string_view& text, int base, char behind, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const auto used = static_cast<size_t>(end - text.data());
  if (error != std::errc() || used >= text.size() || text[used] != behind) return false;
  text.remove_prefix(used + 1);
  return true;
}

// "BEGIN-END PERMS OFFSET MAJOR:MINOR INODE    NAME"
std::optional<Mapping> parse_line(std::string_view line) {
  Mapping mapping;
  if (!take_number(line, 16, '-', mapping.range.begin) || !take_number(line, 16, ' ', mapping.range.end) ||
      mapping.range.end <= mapping.range.begin || line.size() < 5 || line[4] != ' ') {
    return std::nullopt;
  }
  mapping.readable = line[0] == 'r';
  mapping.writable = line[1] == 'w';
  mapping.executable = line[2] == 'x';
  mapping.shared = line[3] == 's';
  line.remove_prefix(5);
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!take_number(line, 16, ' ', mapping.offset) || !take_number(line, 16, ':', major) ||
      !take_number(line, 16, ' ', minor)) {
    return std::nullopt;
  }
  mapping.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), mapping.inode);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  mapping.name = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return mapping;
}

}  // namespace

bool Mapping::is_anonymous() const { return !has_file() && !shared && (name.empty() || name.starts_with("[anon:")); }

bool Mapping::is_of_file_system() const {
  constexpr std::array<std::string_view, 5> kShared{"/memfd:", "/dev/zero", "/SYSV", "/dev/shm/", "/anon_hugepage"};
  return has_file() &&
         std::ranges::none_of(kShared, [this](std::string_view begin) { return name.starts_with(begin); });
}

std::vector<Mapping> parse_memory_map(std::string_view text) {
  std::vector<Mapping> mappings;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    auto mapping = parse_line(text.substr(begin, end - begin));
    const bool ascends = mapping && (mappings.empty() || mapping->range.begin >= mappings.back().range.end);
    if (ascends) mappings.push_back(std::move(*mapping));
    begin = end + 1;
  }
  return mappings;
}

std::vector<Mapping> read_memory_map(pid_t thread) {
  return parse_memory_map(base::read_small_file(base::process_file(thread, "maps")));
}

const Mapping* find_mapping(const std::vector<Mapping>& mappings, uint64_t address) {
  const auto behind = std::ranges::upper_bound(mappings, address, {}, [](const Mapping& m) { return m.range.begin; });
  if (behind == mappings.begin() || !std::prev(behind)->range.contains(address)) return nullptr;
  return &*std::prev(behind);
}

}  // namespace heaptap::process
