// The words for what a report has as numbers: renderers use them, and so does who adds a line to a report.
#pragma once
#include <string>
#include <vector>

#include "model/symbol_hint.h"
#include "report/report.h"

namespace heaptap::report {

// Which verdicts a gap makes uncertain: "events were lost".
std::string words_of(Gap gap);
const char* name_of(Gap gap);  // in JSON: "lost_events"
// Why a stack has no further frames; empty where it is whole.
std::string ending_of(const StackEntry& stack);
// "double free", of an ErrorEntry's kind.
std::string words_of_error(const std::string& kind);
// "mark", "off", "on", "reset".
std::string words_of(model::MarkKind kind);
// What a mark says of its moment: its name, or what was done then.
std::string mark_text(const model::Mark& mark);
// Whom blocks of a stack are for; empty where nothing is known.
std::string words_of(Purpose purpose);
// "libfoo.so.1 is stripped: …, or pass --symbols DIR": with the package or the option that would help.
std::string words_of(const model::SymbolHint& hint);
// What would make the report better, one sentence each.
std::vector<std::string> hints_of(const Report& report);

}  // namespace heaptap::report
