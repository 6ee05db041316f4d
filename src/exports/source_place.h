// Which file of the working tree a frame is in, for tools that show findings in the sources.
#pragma once
#include <optional>
#include <string>

#include "model/frame.h"
#include "report/frame_list.h"

namespace heaptap::exports {

// The file relative to the directory `root`, with slashes; nothing where it lies elsewhere. A relative path of line information
// counts where `root` has that file.
std::optional<std::string> path_below(const std::string& root, const std::string& file);

// The working directory, which CI runs in the checkout.
std::string working_directory();

struct SourcePlace {
  const model::Frame* frame;
  std::string path;  // relative
};
// The innermost frame whose file is below `root`.
std::optional<SourcePlace> place_below(const std::string& root, const report::FrameList& frames);

}  // namespace heaptap::exports
