#include "analysis/findings/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace heaptap::findings {

std::string words_of(report::Gap gap) {
  switch (gap) {
    case report::Gap::kLostEvents:
      return "events were lost";
    case report::Gap::kDamagedLog:
      return "a log was damaged";
    case report::Gap::kOmittedObjects:
      return "calls of some objects were omitted";
    case report::Gap::kPastHooks:
      return "calls of some objects are not seen";
    case report::Gap::kMissedReleases:
      return "some releases were not seen";
    case report::Gap::kUnwatchedFunctions:
      return "blocks were allocated by functions that heaptap doesn't intercept";
    case report::Gap::kSampled:
      return "of the blocks, only samples were recorded (--sample)";
    case report::Gap::kSwitchedOff:
      return "recording was switched off for a while";
    case report::Gap::kOwnAllocator:
      return "calls of the program's own allocator are not seen";
    case report::Gap::kDroppedPast:
      return "of what was earlier, only what was live then is kept (--ring)";
    case report::Gap::kNothingSeen:
      return "nothing was seen of what it allocates";
    case report::Gap::kUnrecordedChildren:
      return "children ran unrecorded";
    case report::Gap::kRunning:
      return "still being recorded";
    case report::Gap::kCutOff:
      return "the recording was interrupted";
    case report::Gap::kUnscannedProcess:
      return "processes without a leak scan";
    case report::Gap::kUnreadTrace:
      return "unreadable traces";
    case report::Gap::kLater:
      break;
  }
  return "calls were missed for a reason that this version doesn't know";
}

const char* name_of(report::Gap gap) {
  switch (gap) {
    case report::Gap::kLostEvents:
      return "lost_events";
    case report::Gap::kDamagedLog:
      return "damaged_log";
    case report::Gap::kOmittedObjects:
      return "omitted_objects";
    case report::Gap::kPastHooks:
      return "past_hooks";
    case report::Gap::kMissedReleases:
      return "missed_releases";
    case report::Gap::kUnwatchedFunctions:
      return "unwatched_functions";
    case report::Gap::kSampled:
      return "sampled";
    case report::Gap::kSwitchedOff:
      return "switched_off";
    case report::Gap::kOwnAllocator:
      return "own_allocator";
    case report::Gap::kDroppedPast:
      return "dropped_past";
    case report::Gap::kNothingSeen:
      return "nothing_seen";
    case report::Gap::kUnrecordedChildren:
      return "unrecorded_children";
    case report::Gap::kRunning:
      return "running";
    case report::Gap::kCutOff:
      return "cut_off";
    case report::Gap::kUnscannedProcess:
      return "unscanned_process";
    case report::Gap::kUnreadTrace:
      return "unread_trace";
    case report::Gap::kLater:
      break;
  }
  return "later";
}

std::string ending_of(wire::StackEnd end) {
  switch (end) {
    case wire::StackEnd::kComplete:
      return "";
    case wire::StackEnd::kNoUnwindTable:
      return "the caller has no unwind table and no frame pointer";
    case wire::StackEnd::kUnsupportedRule:
      return "the caller's unwind table has an unsupported rule";
    case wire::StackEnd::kUnreadable:
      return "the stack's memory is unreadable or damaged";
    case wire::StackEnd::kDepthLimit:
      return "limit of the recording (--depth; of releases --release-stacks)";
    case wire::StackEnd::kMissing:
      return "the trace is damaged here";
    case wire::StackEnd::kTableFull:
      return "the table of stacks was full (use more --log-memory)";
    case wire::StackEnd::kNotUnwound:
      return "the stack could not be unwound at this call";
  }
  return "it ended for a reason that this version doesn't know";
}

std::string ending_of(const report::StackEntry& stack) {
  if (stack.frames_in_all != 0) {
    const bool is_cut = stack.end == wire::StackEnd::kDepthLimit;
    return fmt::format("the innermost of {} frames{}", stack.frames_in_all, is_cut ? " that were recorded" : "");
  }
  if (stack.end == wire::StackEnd::kNoUnwindTable && stack.ends_in_made_code) {
    return "the caller is JIT-compiled code without an unwind table";
  }
  if (!stack.rare->earlier.empty()) return "allocated before the recording";
  return ending_of(stack.end);
}

std::string ending_of(const report::Crash& crash) {
  return crash.end == wire::StackEnd::kDepthLimit ? "deeper frames are left out" : ending_of(crash.end);
}

bool has_short_release(const report::ErrorEntry& error) {
  return error.is_short || (error.released && error.released->is_short);
}

std::string words_of_error(const std::string& kind) {
  if (kind == "interior") return "invalid free (into the middle of a block)";
  return (kind == "bad" ? "invalid" : kind) + " free";
}

std::string words_of(model::MarkKind kind) {
  switch (kind) {
    case model::MarkKind::kStopped:
      return "off";
    case model::MarkKind::kStarted:
      return "on";
    case model::MarkKind::kReset:
      return "reset";
    case model::MarkKind::kEarlier:
      return "earlier";
    case model::MarkKind::kNamed:
      break;
  }
  return "mark";
}

std::string words_of_sort(std::string_view sort_key) {
  constexpr std::array<std::pair<std::string_view, const char*>, 12> kWords{{{"average", "bytes per allocation"},
                                                                             {"bad-frees", "mismatched frees"},
                                                                             {"growth", "growth of what is not freed"},
                                                                             {"leaked-bytes", "leaked bytes"},
                                                                             {"leaks", "leaked blocks"},
                                                                             {"mismatched", "mismatched frees"},
                                                                             {"peak", "bytes at the peak"},
                                                                             {"stacks", "first occurrence"},
                                                                             {"temporary", "temporary allocations"},
                                                                             {"time", "summed lifetimes"},
                                                                             {"total", "allocated bytes"},
                                                                             {"usage", "bytes not freed"}}};
  const auto* const found = std::ranges::find(kWords, sort_key, [](const auto& entry) { return entry.first; });
  return std::string(found == kWords.end() ? sort_key : found->second);
}

std::string mark_text(const model::Mark& mark) {
  switch (mark.kind) {
    case model::MarkKind::kStopped:
      return "recording off";
    case model::MarkKind::kStarted:
      return "recording on";
    case model::MarkKind::kReset:
      return "counts from here on";
    case model::MarkKind::kEarlier:
      return mark.name + " (before this program)";
    case model::MarkKind::kNamed:
      break;
  }
  return mark.name;
}

std::string words_of(report::Purpose purpose) {
  switch (purpose) {
    case report::Purpose::kProgram:
      break;
    case report::Purpose::kEmergencyPool:
      return "libstdc++'s emergency pool for exceptions";
    case report::Purpose::kFileBuffers:
      return "glibc's buffers of files";
    case report::Purpose::kEnvironment:
      return "glibc's copies of the environment";
    case report::Purpose::kLocale:
      return "glibc's locales";
    case report::Purpose::kTranslations:
      return "glibc's translations";
    case report::Purpose::kTimeZone:
      return "glibc's time zone";
    case report::Purpose::kExitFunctions:
      return "glibc's list of functions to call at the end";
    case report::Purpose::kUserDatabase:
      return "glibc's databases of users and hosts";
    case report::Purpose::kConversions:
      return "glibc's conversions of characters";
    case report::Purpose::kThreadSpecific:
      return "glibc's thread-specific data";
    case report::Purpose::kLoader:
      return "the loader's own memory";
    case report::Purpose::kGlibTypes:
      return "GLib's types";
    case report::Purpose::kGlibQuarks:
      return "GLib's quarks";
    case report::Purpose::kGlibSettings:
      return "GLib's settings of user and system";
    case report::Purpose::kGlibThreads:
      return "GLib's data of threads";
  }
  return "";
}

namespace {

std::string difference_of(const model::SymbolHint& hint) {
  if (hint.build_id.empty()) return "its build-id differs";
  if (hint.other_build_id.empty()) return fmt::format("it has no build-id, in the trace it is {}", hint.build_id);
  return fmt::format("its build-id is {}, in the trace {}", hint.other_build_id, hint.build_id);
}

}  // namespace

namespace {

// The package of all .dwo files of a program.
std::string package_text(std::string_view name, const model::SymbolHint& hint) {
  if (!hint.has_package) return fmt::format(", nor is {}.dwp", name);
  if (hint.package_reader.empty()) return fmt::format(", and {}.dwp doesn't have them", name);
  return fmt::format(", and {}.dwp isn't read by elfutils {} (0.191 and later read it)", name, hint.package_reader);
}

}  // namespace

std::string words_of(const model::SymbolHint& hint) {
  using Lack = model::SymbolHint::Lack;
  const std::string& path = hint.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string package =
      hint.finds_packages && (path.starts_with("/usr/") || path.starts_with("/lib"))
          ? fmt::format("install its debug symbols (find-dbgsym-packages {} names the package), ", path)
          : std::string();
  // What follows an advice: servers may help too, or would if they were asked.
  const auto servers = [&hint](const char* set_them) {
    if (!hint.servers_failure.empty()) return "; debuginfod isn't asked: " + hint.servers_failure;
    return std::string(hint.asked_servers ? "" : set_them);
  };
  switch (hint.lack) {
    case Lack::kFile:
      return fmt::format("{} is not on this machine: pass --sysroot DIR or --symbols DIR with a copy of {}{}", name,
                         path, servers(", or set DEBUGINFOD_URLS"));
    case Lack::kSameFile:
      return fmt::format("{} ({}), so it is not used: pass --symbols DIR with the binary that was traced",
                         hint.other_path.empty() || hint.other_path == path
                             ? path + " was replaced since the trace was recorded"
                             : hint.other_path + " is not the one that was recorded",
                         difference_of(hint));
    case Lack::kSymbols:
      return fmt::format("{} is stripped: functions without {}; {}pass --symbols DIR with its debug file{}", name,
                         hint.without_names ? "names" : "lines", package, servers(" or set DEBUGINFOD_URLS"));
    case Lack::kParts:
      return fmt::format(
          "{} was built with -gsplit-dwarf, and its .dwo files aren't found ({}){}: inlined functions are missing; "
          "keep "
          "them where they were built{}",
          name, hint.missing_part, package_text(name, hint),
          hint.package_reader.empty() ? ", or the .dwp beside it" : "");
    case Lack::kReadable:
      return fmt::format(
          "the debug information of {} is compressed by zstd, which can't be read in this kind of file: objcopy "
          "--decompress-debug-sections makes a copy for --symbols DIR",
          name);
    case Lack::kLines:
      break;
  }
  return fmt::format("{} has no line information: {}build it with -g, or pass --symbols DIR with its debug file{}",
                     name, package, servers(" or set DEBUGINFOD_URLS"));
}

namespace {

std::string text_of(const report::UnmatchedFilter& unmatched, const std::string& filter) {
  std::string text = fmt::format("nothing in this trace matches ({})", filter);
  if (unmatched.by_name) {
    text +=
        "; a filter is a part of a name or a regular expression, and is case-sensitive: `heaptap show "
        "top` without it lists names";
  } else if (unmatched.by_thread) {
    text += ": `heaptap show stats` numbers the threads";
  }
  return text;
}

}  // namespace

namespace {

// GLib before 2.76 cuts small blocks from aligned slabs: a slab counts for the caller that needed a new one.
bool is_of_slices(const report::Report& report, const report::StackEntry& stack) {
  constexpr std::array<std::string_view, 4> kAligned{"posix_memalign", "memalign", "aligned_alloc", "valloc"};
  if (std::ranges::find(kAligned, stack.function) == kAligned.end()) return false;
  return std::ranges::any_of(report.frames.indices(stack.frames), [&](report::FrameIndex frame) {
    return report.frames[frame].function.starts_with("g_slice_alloc");
  });
}

}  // namespace

std::vector<std::string> hints_of(const report::Report& report) {
  std::vector<std::string> hints;
  if (report.unmatched) hints.push_back(text_of(*report.unmatched, report.filter));
  if (std::ranges::any_of(report.stacks,
                          [&](const report::StackEntry& stack) { return is_of_slices(report, stack); })) {
    hints.emplace_back(
        "GLib's slices hide the callers: each slab counts for the caller that needed it; record with -E "
        "G_SLICE=always-malloc");
  }
  for (const model::SymbolHint& hint : report.symbol_hints) hints.push_back(words_of(hint));
  return hints;
}

}  // namespace heaptap::findings
