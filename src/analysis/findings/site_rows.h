// Stacks with a common allocation site, merged into one row.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/report/report.h"

namespace heaptap::findings {

struct SiteRow {
  report::StackEntry sum;     // of the stacks; frames of the first one
  std::vector<uint64_t> ids;  // in list order
};

// One row for each distinct function, tags, telling frame and callers. Ordered by `sort_key` (of the report) over the sums; if the key
// has no sum, by each row's first stack.
std::vector<SiteRow> merge_sites(const FrameText& text, const report::FrameTable& frames,
                                 std::span<const report::StackEntry> stacks, std::string_view sort_key = "");

// "#7", "#7 (3 stacks: #7 #9 #12)".
std::string ids_text(const SiteRow& row);

// "#7  make_buffer leak.cc:11 < main leak.cc:19  (3 stacks: #7 #9 #12)", at most `width` characters (0: unlimited).
std::string site_line(const FrameText& text, const report::FrameTable& frames, const SiteRow& row, size_t width);

}  // namespace heaptap::findings
