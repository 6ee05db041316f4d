// Output files of valgrind --tool=massif, as a source of events.
//
//   desc: …, cmd: COMMAND, time_unit: i, ms or B
//   snapshot=N, time=T, mem_heap_B=BYTES, mem_heap_extra_B=BYTES, mem_stacks_B=BYTES
//   heap_tree=empty, detailed or peak; behind the latter two the tree, a caller one space deeper than whom it called:
//   nCALLERS: BYTES 0xADDRESS: FUNCTION (FILE:LINE)
//   nCALLERS: BYTES 0xADDRESS: FUNCTION (in MODULE)
//   n0: BYTES in PLACES places, all below massif's threshold (1.00%)
//
// There are no calls and no blocks in it. So that what was alive is known at the moments of its snapshots, of each stack one
// block stands for what it held; from one snapshot to the next, what changed is released and allocated. Only the sums of bytes
// mean something (model::kUntoldCounts). Of a snapshot without a tree it isn't known which stacks held them: one stack stands for
// all, whose single frame is called kNotDetailed.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event_source.h"

namespace heaptap::imports {

inline constexpr std::string_view kNotDetailed = "[not detailed]";
inline constexpr std::string_view kBelowThreshold = "[below threshold]";

base::Result<std::unique_ptr<model::EventSource>> open_massif(const std::string& path);

}  // namespace heaptap::imports
