#include "capture/elf/debug_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "common/base/crc32.h"

namespace heaptap::elf {
namespace {

constexpr const char* kDebugDirectory = "/usr/lib/debug";

// None: longer than the maximum for a debug file.
std::optional<uint32_t> checksum_of(const base::ByteSource& file) {
  constexpr uint64_t kMaxBytes = uint64_t{4} << 30;
  std::vector<uint8_t> piece(size_t{64} << 10);
  base::Crc32 crc;
  for (uint64_t at = 0;;) {
    const size_t got = file.read_some(at, piece.data(), piece.size());
    crc.add(std::span(piece).first(got));
    if (got < piece.size()) return crc.value();
    at += got;
    if (at > kMaxBytes) return std::nullopt;
  }
}

bool is_of_object(const base::UniqueFd& file, const std::vector<uint8_t>& build_id, const DebugLink& link) {
  const FileBytes bytes(file.get());
  if (!ElfHeaders::read(bytes)) return false;
  if (!build_id.empty()) return read_build_id(bytes) == build_id;
  return !link.name.empty() && checksum_of(bytes) == link.checksum;
}

}  // namespace

DebugLink read_debug_link(const base::ByteSource& file, ElfForm form, const std::vector<ElfSection>& sections) {
  constexpr size_t kMaxNameBytes = 256;
  const ElfSection* section = find_section(sections, ".gnu_debuglink");
  if (section == nullptr || section->bytes < 8) return {};
  // Layout: name with its zero, padding to 4 bytes, checksum.
  DebugLink link;
  link.name = read_text(file, section->offset, static_cast<size_t>(std::min<uint64_t>(section->bytes, kMaxNameBytes)));
  std::array<uint8_t, 4> raw{};
  const uint64_t at = section->offset + ((link.name.size() + 1 + 3) & ~uint64_t{3});
  const bool is_sound =
      link.name.find('/') == std::string::npos && file.read_some(at, raw.data(), raw.size()) == raw.size();
  if (!is_sound) return {};
  link.checksum = static_cast<uint32_t>(form.number(raw.data(), raw.size()));
  return link;
}

std::string debug_path_of(const std::vector<uint8_t>& build_id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string path = std::string(kDebugDirectory) + "/.build-id/";
  for (size_t i = 0; i < build_id.size(); ++i) {
    if (i == 1) path += '/';
    path += kDigits[build_id[i] >> 4];
    path += kDigits[build_id[i] & 15];
  }
  return path + ".debug";
}

base::UniqueFd open_debug_file(pid_t thread, const std::string& path, const std::vector<uint8_t>& build_id,
                               const DebugLink& link) {
  std::vector<std::string> candidates;
  if (build_id.size() > 1) candidates.push_back(debug_path_of(build_id));
  if (!link.name.empty() && path.starts_with('/')) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    candidates.push_back(directory + link.name);
    candidates.push_back(directory + ".debug/" + link.name);
    candidates.push_back(kDebugDirectory + directory + link.name);
  }
  for (const std::string& candidate : candidates) {
    for (const pid_t viewer : {thread, pid_t{0}}) {
      base::UniqueFd file = open_as_seen_by(viewer, candidate);
      if (file && is_of_object(file, build_id, link)) return file;
    }
  }
  return {};
}

base::UniqueFd open_debug_file_bounded(pid_t thread, const std::string& path, const std::vector<uint8_t>& build_id,
                                       const DebugLink& link) {
  const auto open = [thread, path, build_id, link] {
    return base::own_copy(open_debug_file(thread, path, build_id, link));
  };
  auto file = base::ServedFiles::of_process().look<base::UniqueFd>({.viewer = thread, .path = path}, open);
  return file ? *std::move(file) : base::UniqueFd();
}

}  // namespace heaptap::elf
