#include "analysis/findings/resident_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "analysis/findings/amount_text.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {

std::string resident_parts(const report::Resident& resident) {
  if (!resident.kinds) return "";
  const report::ResidentKinds& kinds = *resident.kinds;
  const uint64_t log_bytes = std::min(resident.log_bytes.value_or(0), kinds.shared_bytes);
  std::string text;
  const auto add = [&text](uint64_t bytes, const char* before, const char* what) {
    if (bytes != 0) text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", before, base::format_bytes(bytes), what);
  };
  add(kinds.anonymous_bytes, "", "anonymous");
  add(kinds.file_bytes, "", "of files");
  add(kinds.shared_bytes - log_bytes, "", "shared");
  add(log_bytes, "about ", "heaptap's log");
  add(resident.swapped_bytes.value_or(0), "besides ", "swapped out");
  return text;
}

namespace {

constexpr uint64_t kTenths = 10;

// The unit that the whole has in text, in bytes.
uint64_t unit_of(uint64_t bytes) {
  constexpr uint64_t kStep = 1024;
  uint64_t unit = 1;
  while (bytes / unit >= kStep) unit *= kStep;
  // As rounded, it may be one of the next unit.
  return base::tenths_of(bytes, unit) >= kStep * kTenths ? unit * kStep : unit;
}

// Rounds the parts so that they add up to the whole, rounded; the last part takes those that would be 0, but not the
// first one.
void round_parts(std::vector<ResidentPart>& texts, uint64_t bytes) {
  const uint64_t unit = unit_of(bytes);
  for (ResidentPart& part : texts) {
    if (part.bytes * kTenths >= unit || &part == &texts.front() || &part == &texts.back()) continue;
    texts.back().bytes += part.bytes;
    part.bytes = 0;
  }
  uint64_t left = base::tenths_of(bytes, unit);
  std::vector<ResidentPart*> by_rest;
  for (ResidentPart& part : texts) {
    part.tenths = part.bytes * kTenths / unit;
    left -= part.tenths;
    by_rest.push_back(&part);
  }
  std::ranges::stable_sort(by_rest, std::ranges::greater(),
                           [unit](const ResidentPart* part) { return part->bytes * kTenths % unit; });
  for (size_t i = 0; i < by_rest.size() && left != 0; ++i, --left) ++by_rest[i]->tenths;
}

constexpr uint64_t kLeastBytes = uint64_t{8} << 20;
constexpr uint64_t kLeastTimes = 2;

struct Amounts {
  uint64_t resident_bytes;
  uint64_t live_bytes;
};

bool is_explained(const Amounts& amounts) {
  return amounts.resident_bytes <= kLeastBytes || amounts.resident_bytes / kLeastTimes <= amounts.live_bytes;
}

// What no recorded function mapped is explained where it is a quarter of the whole.
const char* name_of_other(const report::ResidentParts& parts) {
  constexpr uint64_t kWholeOverOther = 4;
  if (parts.other_bytes < parts.bytes / kWholeOverOther) return "other";
  return parts.knows_all_blocks ? "other (by brk, or system calls of its own)"
                                : "other (by brk, system calls of its own, or from before the recording)";
}

}  // namespace

std::vector<ResidentPart> rounded_parts(const report::ResidentParts& parts) {
  if (parts.bytes == 0) return {};
  const char* const free = parts.knows_all_blocks ? "free inside the allocator"
                                                  : "free inside the allocator, or in blocks that weren't recorded";
  std::vector<ResidentPart> rounded{
      {"live", "live", parts.live_bytes},          {"free", free, parts.free_bytes},
      {"mapped", "mapped", parts.mapped_bytes},    {"globals", "global variables", parts.global_bytes},
      {"stacks", "stacks", parts.stack_bytes},     {"ended-stacks", "stacks of ended threads", parts.ended_stack_bytes},
      {"files", "files", parts.file_bytes},        {"shared", "shared", parts.shared_bytes},
      {"heaptap", "heaptap", parts.heaptap_bytes}, {"other", name_of_other(parts), parts.other_bytes}};
  round_parts(rounded, parts.bytes);
  const std::string_view first = rounded.front().kind;
  std::erase_if(rounded, [first](const ResidentPart& part) { return part.tenths == 0 && part.kind != first; });
  return rounded;
}

std::string resident_parts(const report::ResidentParts& parts) {
  std::string text;
  for (const ResidentPart& part : rounded_parts(parts)) {
    text +=
        fmt::format("{}{}.{} {}", text.empty() ? "" : ", ", part.tenths / kTenths, part.tenths % kTenths, part.name);
  }
  return text;
}

std::string moment_of(const report::ResidentParts& parts) {
  return parts.at_end ? "the end" : fmt::format("scan {}", parts.scan);
}

std::string moment_of(const report::MomentPages& pages, const std::string& to) {
  std::string time = base::format_duration(pages.time_ns);
  switch (pages.at) {
    case report::MomentPages::At::kPeak:
      return "the peak, after " + time;
    case report::MomentPages::At::kMark:
      return fmt::format("mark {}, after {}", base::safe_text(to), time);
    case report::MomentPages::At::kEnd:
      return "the end";
    case report::MomentPages::At::kTime:
      break;
  }
  return time;
}

std::string arena_name(const report::ArenaUse& arena) {
  switch (arena.kind) {
    case model::RegionKind::kHeap:
      return "main arena";
    case model::RegionKind::kArena:
      return fmt::format("arena {}", arena.arena);
    case model::RegionKind::kMappedBlock:
      return "mapped blocks";
    default:
      return "another allocator";
  }
}

std::string resident_unknown_text(const model::Capture& capture) {
  if (capture.is_of_core()) return "Which pages were resident is unknown: a core file doesn't have that.";
  return "Which pages are resident is unknown: the kernel of the recording's machine has no list of them (before Linux "
         "6.7), counting them would have stopped the program for too long, or the trace is of an earlier heaptap.";
}

std::string resident_line(const report::Totals& totals) {
  if (totals.resident_parts && totals.resident_parts->at_end) {
    const report::ResidentParts& parts = *totals.resident_parts;
    const uint64_t own_bytes = parts.bytes - std::min(parts.heaptap_bytes, parts.bytes);
    if (is_explained({.resident_bytes = own_bytes, .live_bytes = parts.live_bytes + parts.mapped_bytes})) return "";
    return fmt::format("{} resident: {}", base::format_bytes(parts.bytes), resident_parts(parts));
  }
  if (!totals.resident || !totals.live_bytes.is_known()) return "";
  const report::Resident& resident = *totals.resident;
  // What the program maps itself is no surprise, as far as it is told apart from reserved addresses and files.
  const uint64_t mapped_bytes =
      totals.mapped.memory.live_bytes + totals.mapped.of(model::MappedKind::kUnknown).live_bytes;
  const uint64_t live_bytes = totals.live_bytes.counted() + mapped_bytes;
  if (is_explained({.resident_bytes = resident.own_bytes(), .live_bytes = live_bytes})) return "";
  const std::string parts = resident_parts(resident);
  return fmt::format("{} resident, {} live{}{}{}", base::format_bytes(resident.bytes), base::format_bytes(live_bytes),
                     mapped_bytes != 0 ? " or mapped" : "", parts.empty() ? "" : ": ", parts);
}

bool free_memory_leads(const report::Totals& totals) {
  constexpr uint64_t kWholeOverFree = 2;
  if (!totals.resident_parts) return false;
  const report::ResidentParts& parts = *totals.resident_parts;
  if (!parts.at_end || !parts.knows_all_blocks) return false;
  const uint64_t own_bytes = parts.bytes - std::min(parts.heaptap_bytes, parts.bytes);
  return parts.free_bytes >= own_bytes / kWholeOverFree &&
         !is_explained({.resident_bytes = own_bytes, .live_bytes = parts.live_bytes + parts.mapped_bytes});
}

std::optional<FreeMemory> free_memory_of(const report::Report& report) {
  constexpr uint64_t kFreeOverCause = 4;
  if (!report.fragmentation || !free_memory_leads(report.totals)) return std::nullopt;
  const report::Fragmentation& found = *report.fragmentation;
  const report::StackKeep* const stack = found.stacks.empty() ? nullptr : &found.stacks.front();
  const uint64_t least = report.totals.resident_parts->free_bytes / kFreeOverCause;
  if (stack != nullptr && stack->kept_bytes >= std::max(least, found.unused_bytes)) {
    return FreeMemory{fmt::format("{} of it kept resident by {}", base::format_bytes(stack->kept_bytes),
                                  counted(stack->live.blocks, "block")),
                      stack};
  }
  if (found.unused_bytes < least) return std::nullopt;
  return FreeMemory{fmt::format("{} of it in whole pages", base::format_bytes(found.unused_bytes)), nullptr};
}

}  // namespace heaptap::findings
