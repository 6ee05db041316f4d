#include "views/html/sources.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "analysis/findings/telling_frame.h"

namespace heaptap::html {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path& path, size_t room) {
  std::error_code error;
  if (!is_source_name(path.string()) || !is_source_name(fs::weakly_canonical(path, error).string())) return {};
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > room) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional(std::move(text).str()) : std::nullopt;
}

std::optional<std::string> find_file(const std::string& name, const std::vector<std::string>& sysroots, size_t room) {
  for (const std::string& sysroot : sysroots) {
    if (auto text = read_file(fs::path(sysroot).concat("/" + name), room)) return text;
  }
  return read_file(name, room);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

bool is_source_name(const std::string& path) {
  constexpr std::array<std::string_view, 16> kSuffixes{".c",   ".cc",  ".cpp", ".cxx", ".C",  ".h",  ".hh", ".hpp",
                                                       ".hxx", ".inc", ".ipp", ".tcc", ".rs", ".cu", ".m",  ".mm"};
  return std::ranges::find(kSuffixes, fs::path(path).extension().string()) != kSuffixes.end();
}

Sources read_sources(const report::Report& report, const std::vector<std::string>& sysroots) {
  Sources sources;
  size_t room = kMaxSourceBytes;
  std::vector<bool> seen(report.frames.size());
  for (const report::StackEntry& stack : report.stacks) {
    for (const report::FrameIndex index : report.frames.indices(stack.frames)) {
      const model::Frame& frame = report.frames[index];
      if (seen[index] || frame.file.empty() || findings::frame_kind(frame) != 0) continue;
      seen[index] = true;
      const auto [entry, is_new] = sources.try_emplace(frame.file);
      if (!is_new) continue;
      if (const auto text = find_file(frame.file, sysroots, room)) {
        room -= text->size();
        entry->second = lines_of(*text);
      }
    }
  }
  std::erase_if(sources, [](const auto& entry) { return entry.second.empty(); });
  return sources;
}

}  // namespace heaptap::html
