// Stacks that come from the same place, as one line of a list.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/frame_text.h"
#include "report/report.h"

namespace heaptap::report {

struct SiteRow {
  StackEntry sum;             // of all of them; its frames are those of the first
  std::vector<uint64_t> ids;  // in order of the list
};

// One for each different called function, tags, telling frame and callers, in the order that `sort_key` (of the report) says
// for the sums; where it has no sum, in that of the first stack of each.
std::vector<SiteRow> merge_sites(const FrameText& text, std::span<const model::Frame> frames,
                                 std::span<const StackEntry> stacks, std::string_view sort_key = "");

// "#7", "#7 (3 stacks: #7 #9 #12)".
std::string ids_text(const SiteRow& row);

// "#7  make_buffer leak.cc:11 < main leak.cc:19  (3 stacks: #7 #9 #12)", of at most `width` characters (0: any number).
std::string site_line(const FrameText& text, std::span<const model::Frame> frames, const SiteRow& row, size_t width);

}  // namespace heaptap::report
