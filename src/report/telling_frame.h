// Which frame of a stack names the place that allocates.
#pragma once
#include "report/frame_list.h"
#include "report/machinery.h"

namespace heaptap::report {

// The place in `frames` of the innermost frame that isn't allocation machinery, by the list of names or by the user's. Where
// all are machinery: of the innermost one of no system library, with a line if one has a line; else of the first.
// frames.size(): there is none.
size_t telling_place(const FrameList& frames, const SkippedNames& skipped = {});

// The frame there; null: there is none.
const model::Frame* telling_frame(const FrameList& frames, const SkippedNames& skipped = {});

// How many of the frames a reader wants to see: without those below main() or below a thread's function, unless there are no
// others.
size_t told_frames(const FrameList& frames);

// 0: the program's own; 1: allocation machinery and insides of libraries; 2: below main() or a thread's function.
uint32_t frame_kind(const model::Frame& frame);

}  // namespace heaptap::report
