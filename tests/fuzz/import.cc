// From a file of another tool to what is shown of it: every view, as text and as JSON.
#include <cstdint>

#include "analysis/imports/import.h"
#include "analysis/query/analyze.h"
#include "analysis/report/view.h"
#include "fuzz/support/expect.h"
#include "fuzz/support/memory_file.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

using namespace heaptap;

namespace {

using report::View;

query::Query query_for(unsigned variant) {
  query::Query query;
  query.listing.blocks = query.listing.errors = true;
  query.counting.from_all_sides = (variant & 1) != 0;
  if ((variant & 2) != 0) query.filter.function = "main";
  if ((variant & 4) != 0) query.window.span.last.time_ns = 20'000'000;
  if ((variant & 8) != 0) query.listing.limit = 3;
  return query;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const fuzz::MemoryFile file({bytes, size_bytes});
  const bool is_import = imports::is_import(file.path());
  auto source = imports::open_import(file.path());
  if (!source) return 0;
  FUZZ_EXPECT(is_import);
  const unsigned variant = size_bytes != 0 ? bytes[size_bytes / 2] : 0;
  const auto report = query::analyze(**source, query_for(variant));
  if (!report) return 0;
  FUZZ_EXPECT(!report->capture.import.tool.empty());
  FUZZ_EXPECT(!report->threads && !report->blocks && !report->lifetimes);
  uint64_t live_bytes = 0;
  for (const report::StackEntry& stack : report->stacks) live_bytes += stack.live_bytes.counted();
  if (report->stacks.size() == report->stack_count) FUZZ_EXPECT(live_bytes == report->totals.live_bytes);
  for (const View view : {View::kSummary, View::kLeaks, View::kTop, View::kTree, View::kStats, View::kSizes,
                          View::kLifetimes, View::kTimeline, View::kBlocks}) {
    const json::Version version = (variant & 128) != 0 ? json::Version::kLists : json::Version::kNodes;
    const text::RenderOptions options{.bottom_up = (variant & 64) != 0};
    FUZZ_EXPECT(!text::render_text(*report, view, options).empty());
    FUZZ_EXPECT(
        json::render_json(*report, view, {.bottom_up = options.bottom_up, .version = version}).starts_with("{"));
  }
  return 0;
}
