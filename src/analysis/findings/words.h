// Words for a report's data, used by renderers and by additions to reports.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "common/model/symbol_hint.h"

namespace heaptap::findings {

// "events were lost": reason for an uncertain verdict.
std::string words_of(report::Gap gap);
const char* name_of(report::Gap gap);  // in JSON: "lost_events"
// Why a stack has no further frames; empty if complete.
std::string ending_of(wire::StackEnd end);
std::string ending_of(const report::StackEntry& stack);
std::string ending_of(const report::Crash& crash);
// Whether a release's stack, or that of the first one of a double release, is the caller alone, since no more was recorded.
bool has_short_release(const report::ErrorEntry& error);
inline constexpr char kShortReleases[] =
    "of releases only the caller was recorded: heaptap run --sanity records whole stacks";
// "double free", for an ErrorEntry's kind.
std::string words_of_error(const std::string& kind);
// "mark", "off", "on", "reset".
std::string words_of(model::MarkKind kind);
// Text of a mark: its name, or the action at that moment.
std::string mark_text(const model::Mark& mark);
// "bytes at the peak", for a sort key.
std::string words_of_sort(std::string_view sort_key);
// Owner and purpose of a stack's blocks; empty if unknown.
std::string words_of(report::Purpose purpose);
// "libfoo.so.1 is stripped: …, or pass --symbols DIR": with the package or the option that helps.
std::string words_of(const model::SymbolHint& hint);
// Hints for a better report, one sentence each.
std::vector<std::string> hints_of(const report::Report& report);

}  // namespace heaptap::findings
