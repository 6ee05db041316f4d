// Source file of a frame within the working tree, for tools that show findings in sources.
#pragma once
#include <optional>
#include <string>

#include "analysis/report/frame_list.h"
#include "common/model/frame.h"

namespace heaptap::exports {

// The file relative to the directory `root`, with slashes; none if it is elsewhere. A relative path in line information counts if
// `root` has that file.
std::optional<std::string> path_below(const std::string& root, const std::string& file);

// Working directory, in CI the root of the checkout.
std::string working_directory();

struct SourcePlace {
  const model::Frame* frame;
  std::string path;
};
// Innermost frame with a file below `root`.
std::optional<SourcePlace> place_below(const std::string& root, const report::FrameList& frames);
// The same, where its line is known; else the innermost frame whose file is on this machine, by its absolute path.
std::optional<SourcePlace> place_here(const std::string& root, const report::FrameList& frames);

}  // namespace heaptap::exports
