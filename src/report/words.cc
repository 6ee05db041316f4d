#include "report/words.h"

#include <fmt/format.h>

namespace heaptap::report {

std::string words_of(Gap gap) {
  switch (gap) {
    case Gap::kLostEvents:
      return "events were lost";
    case Gap::kDamagedLog:
      return "a log was damaged";
    case Gap::kOmittedObjects:
      return "calls of some objects were omitted";
    case Gap::kPastHooks:
      return "calls of some objects are not seen";
    case Gap::kMissedReleases:
      return "some releases were not seen";
    case Gap::kRunning:
      return "the recording goes on";
    case Gap::kCutOff:
      return "the trace is cut off";
    case Gap::kLater:
      break;
  }
  return "calls were missed in a way that a later version of heaptap knows";
}

std::string ending_of(const StackEntry& stack) {
  if (stack.frames_in_all != 0) {
    return fmt::format("{} frames in all, of which the innermost are shown", stack.frames_in_all);
  }
  switch (stack.end) {
    case wire::StackEnd::kComplete:
      return "";
    case wire::StackEnd::kNoUnwindTable:
      return "the caller's code has no unwind table and no frame pointer led on";
    case wire::StackEnd::kUnsupportedRule:
      return "the caller's unwind table has a rule that can't be followed";
    case wire::StackEnd::kUnreadable:
      return "the stack's memory ended or made no sense";
    case wire::StackEnd::kDepthLimit:
      return "deeper than the depth limit of the capture";
    case wire::StackEnd::kMissing:
      return "the trace is damaged where the rest of the stack stood";
    case wire::StackEnd::kTableFull:
      return "the capture's table of stacks was full (more --log-memory makes room)";
    case wire::StackEnd::kNotUnwound:
      return "the call came where the stack could not be unwound";
  }
  return "it ended for a reason that this version doesn't know";
}

std::string words_of(Purpose purpose) {
  return purpose == Purpose::kEmergencyPool ? "libstdc++'s emergency pool for exceptions" : "";
}

std::string words_of(const model::SymbolHint& hint) {
  using Lack = model::SymbolHint::Lack;
  const std::string& path = hint.path;
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string package =
      path.starts_with("/usr/") || path.starts_with("/lib")
          ? fmt::format("install its debug symbols (find-dbgsym-packages {} names the package), ", path)
          : std::string();
  const char* const servers = hint.asked_servers ? "" : " or --debuginfod";
  switch (hint.lack) {
    case Lack::kFile:
      return fmt::format("{} is not on this machine: pass --sysroot DIR or --symbols DIR with a copy of {}{}", name,
                         path, hint.asked_servers ? "" : ", or --debuginfod");
    case Lack::kSameFile:
      return fmt::format(
          "{} was replaced since the trace was recorded (its build-id differs), so it is not used: pass --symbols DIR "
          "with the file of then",
          path);
    case Lack::kSymbols:
      return fmt::format("{} is stripped: functions without {}; {}pass --symbols DIR with its debug file{}", name,
                         hint.without_names ? "names" : "lines", package, servers);
    case Lack::kLines:
      break;
  }
  return fmt::format("{} has no line information: {}build it with -g, or pass --symbols DIR with its debug file{}",
                     name, package, servers);
}

std::string unmatched_text(const std::string& filter, bool by_name, bool by_thread) {
  std::string text = fmt::format("nothing in this trace matches ({})", filter);
  if (by_name) {
    text +=
        "; a part of a name is looked for, or a regular expression, in upper and lower case as written: "
        "`heaptap show top` without it has the names";
  } else if (by_thread) {
    text += ": `heaptap show stats` numbers the threads";
  }
  return text;
}

}  // namespace heaptap::report
