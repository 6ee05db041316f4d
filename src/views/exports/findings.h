// Findings for tools of continuous integration: leaks by stack and bad releases, and whether the list is complete.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "common/base/result.h"

namespace heaptap::exports {

enum class LeakKind : uint8_t { kDefinite, kIndirect, kPossible };
std::string_view words_of(LeakKind kind);  // "definitely lost"

// Lost blocks of one stack in one leak state.
struct Leak {
  const report::StackEntry* stack;
  LeakKind kind;
  report::BlockCount count;
};

// By kind, then largest first. Empty without a scan, too.
std::vector<Leak> leaks_of(const report::Report& report);
// "128 bytes in 2 blocks are definitely lost"
std::string sentence_of(const Leak& leak);

// "free of a block that was freed already, 40 bytes by malloc"
std::string sentence_of(const report::ErrorEntry& error);
// "double-free", "invalid-free", "mismatched-free"
std::string_view rule_of(const report::ErrorEntry& error);

// Fails, with a remedy, if the trace has no leak scan.
base::Result<> require_scan(const report::Report& report, std::string_view format);

// Why there may be more leaks, or bad releases, than reported; empty: the list is complete.
std::string doubt_about_leaks(const report::Report& report);
std::string doubt_about_releases(const report::Report& report);

}  // namespace heaptap::exports
