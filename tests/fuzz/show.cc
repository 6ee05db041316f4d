// From a trace to what is shown of it: every view of a trace of any content, as text and as JSON.
#include <cstdint>
#include <string>

#include "analysis/query/analyze.h"
#include "analysis/report/view.h"
#include "fuzz/support/expect.h"
#include "fuzz/support/memory_file.h"
#include "fuzz/support/trace_mutator.h"
#include "record/trace/trace_reader.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

using namespace heaptap;

namespace {

using report::View;

query::Query everything(unsigned variant) {
  query::Query query;
  query.listing.blocks = query.listing.errors = true;
  if ((variant & 1) != 0) query.filter.function = "main";
  if ((variant & 2) != 0) query.filter.thread = 1;
  if ((variant & 4) != 0) query.window.span.first.time_ns = 1000;
  if ((variant & 8) != 0) query.window.span.last.time_ns = 1'000'000;
  if ((variant & 16) != 0) query.listing.limit = 3;
  return query;
}

// What needs a scan; where there is none it is refused.
query::Query of_scan(unsigned variant) {
  query::Query query = everything(variant);
  query.leaks.globals = query.leaks.scan_list = true;
  query.leaks.fragmentation = query::FragmentationAt::kScan;
  query.leaks.since = variant & 1;
  query.leaks.generate = query::SuppressionSyntax::kValgrind;
  query.leaks.retained = static_cast<query::RetainedBy>(variant % 3);
  query.leaks.why = query::BlockQuestion{.by = query::BlockQuestion::By::kNumber, .value = 1 + (variant & 7)};
  return query;
}

query::Query of_moment(unsigned variant) {
  query::Query query;
  query.window.to = (variant & 8) != 0 ? "1ms" : (variant & 4) != 0 ? "end" : "peak";
  if ((variant & 1) != 0) query.filter.function = "main";
  query.leaks.fragmentation = query::FragmentationAt::kWindow;
  return query;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const fuzz::MemoryFile file({bytes, size_bytes});
  auto reader = trace::TraceReader::open(file.path());
  if (!reader) return 0;
  const unsigned variant = size_bytes > 15 ? bytes[15] : 0;  // a byte of the head that a reader passes over
  auto report = query::analyze(*reader, of_scan(variant));
  if (!report) report = query::analyze(*reader, everything(variant));
  if (!report) return 0;
  for (const View view : {View::kSummary, View::kLeaks, View::kTop, View::kTree, View::kStats, View::kSizes,
                          View::kLifetimes, View::kTimeline, View::kBlocks, View::kHolders, View::kRetained,
                          View::kGlobals, View::kScans, View::kScanChanges, View::kFragmentation}) {
    const json::Version version = (variant & 128) != 0 ? json::Version::kLists : json::Version::kNodes;
    const text::RenderOptions options{.color = (variant & 32) != 0, .bottom_up = (variant & 64) != 0};
    FUZZ_EXPECT(!text::render_text(*report, view, options).empty());
    FUZZ_EXPECT(
        json::render_json(*report, view, {.bottom_up = options.bottom_up, .version = version}).starts_with("{"));
  }
  if (const auto pages = query::analyze(*reader, of_moment(variant))) {
    FUZZ_EXPECT(!text::render_text(*pages, View::kFragmentation, {}).empty());
    FUZZ_EXPECT(json::render_json(*pages, View::kFragmentation).starts_with("{"));
  }
  FUZZ_EXPECT(!text::render_end_summary(*report, {}).empty());
  return 0;
}
