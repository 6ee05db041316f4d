// The words for what a report has as numbers: renderers use them, and so does who adds a line to a report.
#pragma once
#include <string>

#include "model/symbol_hint.h"
#include "report/report.h"

namespace heaptap::report {

// Which verdicts a gap makes uncertain: "events were lost".
std::string words_of(Gap gap);
// Why a stack has no further frames; empty where it is whole.
std::string ending_of(const StackEntry& stack);
// Whom blocks of a stack are for; empty where nothing is known.
std::string words_of(Purpose purpose);
// "libfoo.so.1 is stripped: …, or pass --symbols DIR": with the package or the option that would help.
std::string words_of(const model::SymbolHint& hint);
// Of a filter that let nothing through: `by_name` and `by_thread` say what it looked at.
std::string unmatched_text(const std::string& filter, bool by_name, bool by_thread);

}  // namespace heaptap::report
