// Outcome of a program in words: its end and its leaks, shared by the end of a recording and by reports. Safe for a terminal.
#pragma once
#include <string>

#include "analysis/report/leak_counts.h"
#include "analysis/report/leak_views.h"
#include "analysis/report/report.h"

namespace heaptap::findings {

// "exited with 0", "killed by SIGSEGV", "detached, still running".
std::string ending_text(const model::Capture& capture);

// Command line, if short: "./leak".
std::string command_of(const model::Capture& capture);

// "101,956 bytes in 123 blocks"
std::string exact_amount(const report::BlockCount& count);

// Reason why they may not be lost: " (unless requests of its io_uring hold them)"; empty: none.
std::string doubt_of_leaks(const report::Leaks& leaks);

// "LEAKED 101,956 bytes in 123 blocks (100,320 definitely, 1,636 indirectly lost)"
std::string leaks_text(const report::Leaks& leaks);

// "global cache (grow.cc:11)"; empty if the variable has no name.
std::string variable_text(const report::NamedRoot& variable);
// What retains reachable memory: "19.9 MiB of them by global cache (grow.cc:11)", or "by several global variables together: first,
// index", or, where the recording began later, that a variable leads there through unknown blocks. Empty: unknown, or less than a
// tenth of it, which explains nothing.
std::string retained_text(const report::Report& report);

// "at the program's end", "as exit began", "at 1.20 s".
std::string moment_of_scan(const report::ScanFacts& scan);

// "held by global cache (grow.cc:11) until its destructor or an exit handler ran": who led to what is lost where exit began, or to
// most of it; empty: unknown.
std::string held_until_exit_text(const report::StackLeaks& leaks);

// Kind of a bad release: a noun and a suffix: "mismatched free", " (free of operator new)".
struct ErrorName {
  const char* noun;
  std::string rest;
};
ErrorName name_of(const report::ErrorEntry& error);

}  // namespace heaptap::findings
