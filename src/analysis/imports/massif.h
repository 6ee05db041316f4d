// Output files of valgrind --tool=massif, as a source of events.
//
//   desc: …, cmd: COMMAND, time_unit: i, ms or B
//   snapshot=N, time=T, mem_heap_B=BYTES, mem_heap_extra_B=BYTES, mem_stacks_B=BYTES
//   heap_tree=empty, detailed or peak; after the latter two the tree, a caller one space deeper than its callee:
//   nCALLERS: BYTES 0xADDRESS: FUNCTION (FILE:LINE)
//   nCALLERS: BYTES 0xADDRESS: FUNCTION (in MODULE)
//   n0: BYTES in PLACES places, all below massif's threshold (1.00%)
//
// The file has neither calls nor blocks. Live memory is known at its snapshots, so each stack gets one block for all bytes it held;
// from one snapshot to the next, the difference is released and allocated. Only sums of bytes are meaningful
// (model::kNotRecordedCounts). A snapshot without a tree doesn't say which stacks held the bytes: one stack represents all, with a single
// frame named kNotDetailed.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::imports {

inline constexpr std::string_view kNotDetailed = "[not detailed]";
inline constexpr std::string_view kBelowThreshold = "[below threshold]";

base::Result<std::unique_ptr<model::EventSource>> open_massif(const std::string& path);

}  // namespace heaptap::imports
