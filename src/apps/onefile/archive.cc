#include "apps/onefile/archive.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace heaptap::onefile {
namespace {

constexpr size_t kBlockBytes = 512;

// Fields of a head, where POSIX has them.
std::string_view text_at(std::string_view head, size_t offset, size_t size_bytes) {
  const std::string_view field = head.substr(offset, size_bytes);
  return field.substr(0, field.find('\0'));
}

std::optional<uint64_t> octal_at(std::string_view head, size_t offset, size_t size_bytes) {
  uint64_t value = 0;
  bool is_number = false;
  for (const char digit : text_at(head, offset, size_bytes)) {
    if (digit == ' ') continue;
    if (digit < '0' || digit > '7' || value > UINT64_MAX >> 3) return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(digit - '0');
    is_number = true;
  }
  return is_number ? std::optional(value) : std::nullopt;
}

bool stays_inside(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return false;
    path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
  }
  return true;
}

std::string path_of(std::string_view head) {
  const std::string_view prefix = text_at(head, 345, 155);
  std::string path(prefix);
  if (!path.empty()) path += '/';
  path += text_at(head, 0, 100);
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

std::optional<Entry> entry_of(std::string_view head) {
  const auto mode = octal_at(head, 100, 8);
  if (!mode || text_at(head, 257, 6) != "ustar") return std::nullopt;
  Entry entry{.kind = Entry::Kind::kFile,
              .path = path_of(head),
              .mode = static_cast<mode_t>(*mode & 0777),
              .content = {},
              .link = {}};
  switch (head[156]) {
    case '0':
      break;
    case '2':
      entry.kind = Entry::Kind::kLink;
      entry.link = text_at(head, 157, 100);
      break;
    case '5':
      entry.kind = Entry::Kind::kDirectory;
      break;
    default:
      return std::nullopt;
  }
  return entry;
}

}  // namespace

base::Result<std::vector<Entry>> parse_archive(std::string_view tar) {
  std::vector<Entry> entries;
  while (tar.size() >= kBlockBytes && tar.front() != '\0') {
    const std::string_view head = tar.substr(0, kBlockBytes);
    tar.remove_prefix(kBlockBytes);
    auto entry = entry_of(head);
    const auto size = octal_at(head, 124, 12);
    if (!entry || !size || *size > tar.size())
      return base::fail("the archive is damaged behind {} entries", entries.size());
    entry->content = tar.substr(0, *size);
    tar.remove_prefix(std::min<size_t>(tar.size(), (*size + kBlockBytes - 1) / kBlockBytes * kBlockBytes));
    if (entry->path.empty() || entry->path == ".") continue;  // the directory of all
    if (!stays_inside(entry->path))
      return base::fail("the archive has the path '{}', which leads out of it", entry->path);
    entries.push_back(*std::move(entry));
  }
  return entries;
}

}  // namespace heaptap::onefile
