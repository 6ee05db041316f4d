#include "capture/supervision/trace_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/base/safe_text.h"
#include "common/base/small_file.h"

namespace heaptap::supervision {
namespace {

constexpr std::string_view kEnding = ".htap";

std::string fill_in(const std::string& pattern, uint32_t pid) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'p':
        result += std::to_string(pid);
        break;
      case 'h':
        result += host_name();
        break;
      case '%':
        result += '%';
        break;
      default:
        result += pattern[i];
        continue;
    }
    ++i;
  }
  return result;
}

// A program's name as a part of a file name: printable, and short enough.
std::string file_name_part(const std::string& program) {
  constexpr size_t kMaxBytes = 180;
  const std::string name(base::file_name_of(program));
  std::string safe = base::safe_text(name);
  if (safe != name) std::ranges::replace(safe, '\\', '_');
  if (safe.size() > kMaxBytes) safe.resize(kMaxBytes);
  return safe;
}

// Without .htap.
std::string stem_of(const std::string& path) {
  return path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string trace_path(const std::string& pattern, const std::string& program, uint32_t pid, unsigned nth) {
  std::string path =
      pattern.empty() ? fmt::format("heaptap.{}.{}.htap", file_name_part(program), pid) : fill_in(pattern, pid);
  if (nth == 0) return path;
  const std::string stem = stem_of(path);
  return fmt::format("{}.{}{}", stem, nth, stem.size() < path.size() ? kEnding : "");
}

std::string run_path(const std::string& main_trace) { return stem_of(main_trace) + ".run"; }

// Created under another name and renamed, so that the link always exists. A file of that name that isn't a link is
// kept.
void link_latest(const std::string& file) {
  const std::string_view name = base::file_name_of(file);
  const std::string directory = file.substr(0, file.size() - name.size());
  const std::string link = directory + std::string(kLatestTrace);
  if (base::exists(link) && base::read_link(link).empty()) return;
  const std::string fresh = fmt::format("{}.{}.{}", directory, kLatestTrace, getpid());
  if (symlink(std::string(name).c_str(), fresh.c_str()) != 0) return;
  if (rename(fresh.c_str(), link.c_str()) != 0) unlink(fresh.c_str());
}

}  // namespace heaptap::supervision
