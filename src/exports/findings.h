// What tools of continuous integration show of a report: leaks, by stack, and bad releases; and whether these are all.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"

namespace heaptap::exports {

enum class LeakKind : uint8_t { kDefinite, kIndirect, kPossible };
std::string_view words_of(LeakKind kind);  // "definitely lost"

// The lost blocks of one stack that are lost in one way.
struct Leak {
  const report::StackEntry* stack;
  LeakKind kind;
  report::BlockCount count;
};

// By kind, then largest first. Empty also where no scan was made.
std::vector<Leak> leaks_of(const report::Report& report);
// "128 bytes in 2 blocks are definitely lost"
std::string sentence_of(const Leak& leak);

// "free of a block that was freed already, 40 bytes by malloc"
std::string sentence_of(const report::ErrorEntry& error);
// "double-free", "invalid-free", "mismatched-free"
std::string_view rule_of(const report::ErrorEntry& error);

// Fails, with the cure, where the trace has no leak scan.
base::Result<> require_scan(const report::Report& report, std::string_view format);

// Why there may be more leaks, or bad releases, than the report has; empty: these are all.
std::string doubt_about_leaks(const report::Report& report);
std::string doubt_about_releases(const report::Report& report);

}  // namespace heaptap::exports
