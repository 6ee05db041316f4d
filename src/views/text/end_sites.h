// Lines of allocation sites at the end of a run. Private to views/text.
#pragma once
#include <string>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/report/report.h"

namespace heaptap::text {

// At most `most` lines of at most `width` characters (0: unlimited).

// "100,000 bytes in 100 blocks  #7  make_buffer leak.cc:11 < main leak.cc:19": sites of the leaks; without leaks, of live blocks.
std::vector<std::string> held_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                    size_t width);

// "95.4 MiB in 1,000 blocks  #3  fill table.cc:8 < main table.cc:10": sites of what is reachable, where leaks explain little of what is
// left and the report isn't about what is gone.
std::vector<std::string> reachable_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                         size_t width);

// "50.0 MiB of the peak: #3  load_image img.cc:12 < load_all img.cc:20": sites of what is gone, if the report is about that.
std::vector<std::string> past_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                    size_t width);

// "64.0 MiB of the mapped peak: #5  map_region map.cc:7 < main map.cc:20": sites of mapped memory at its peak.
std::vector<std::string> mapped_lines(const report::Report& report, const findings::FrameText& text, size_t most,
                                      size_t width);

}  // namespace heaptap::text
