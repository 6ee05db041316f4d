// Telling frame of a stack: the one that names the allocation site.
#pragma once
#include "analysis/report/frame_list.h"
#include "analysis/report/skipped_names.h"

namespace heaptap::findings {

// Index in `frames` of the innermost frame that isn't allocation machinery, by the built-in list or the user's. If all are machinery:
// the innermost one outside system libraries, preferably with a line; else the first. frames.size(): none.
size_t telling_place(const report::FrameList& frames, const report::SkippedNames& skipped = {});

// Telling frame; null: none.
const model::Frame* telling_frame(const report::FrameList& frames, const report::SkippedNames& skipped = {});

// Index in `frames` of the innermost frame of a crash that is the program's own, the user's machinery apart; if none is, the first.
// frames.size(): none.
size_t crash_place(const report::FrameList& frames, const report::SkippedNames& skipped = {});

// Number of frames worth showing: without those below main() or below a thread's function, unless there are no others.
size_t told_frames(const report::FrameList& frames);

// 0: the program's own; 1: allocation machinery and library internals; 2: below main() or a thread's function.
uint32_t frame_kind(const model::Frame& frame);

}  // namespace heaptap::findings
