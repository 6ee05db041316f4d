#include "views/exports/source_place.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace heaptap::exports {

std::optional<std::string> path_below(const std::string& root, const std::string& file) {
  if (root.empty() || file.empty()) return std::nullopt;
  const std::filesystem::path directory = std::filesystem::path(root).lexically_normal();
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  const std::filesystem::path below = path.is_absolute() ? path.lexically_relative(directory) : path;
  if (below.empty() || *below.begin() == ".." || *below.begin() == ".") return std::nullopt;
  std::error_code none;
  if (!path.is_absolute() && !std::filesystem::is_regular_file(directory / below, none)) return std::nullopt;
  return below.generic_string();
}

std::string working_directory() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::current_path(error);
  return error ? std::string() : path.string();
}

std::optional<SourcePlace> place_below(const std::string& root, const report::FrameList& frames) {
  for (const model::Frame& frame : frames) {
    if (auto path = path_below(root, frame.file)) return SourcePlace{&frame, *std::move(path)};
  }
  return std::nullopt;
}

std::optional<SourcePlace> place_here(const std::string& root, const report::FrameList& frames) {
  if (auto below = place_below(root, frames); below && below->frame->line != 0) return below;
  for (const model::Frame& frame : frames) {
    if (frame.line == 0 || !frame.file.starts_with('/')) continue;
    // Build systems write /src/build/../app.cc.
    std::error_code none;
    std::string path = std::filesystem::path(frame.file).lexically_normal().string();
    if (std::filesystem::is_regular_file(path, none)) return SourcePlace{&frame, std::move(path)};
  }
  return std::nullopt;
}

}  // namespace heaptap::exports
