#include "analysis/findings/note_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/findings/amount_text.h"
#include "common/base/result.h"
#include "common/base/units.h"
#include "common/wire/log.h"

namespace heaptap::findings {
namespace {

using model::Note;
using model::NoteKind;

struct Facts {
  NoteKind kind;
  const char* name;
  bool counts;
};
constexpr Facts kFacts[] = {
#define HEAPTAP_NOTE(number, enumerator, name, counts) {NoteKind::enumerator, name, counts},
#include "common/model/notes.def"
#undef HEAPTAP_NOTE
};

const Facts* facts_of(NoteKind kind) {
  const auto* const found = std::ranges::find(kFacts, kind, &Facts::kind);
  return found == std::end(kFacts) ? nullptr : found;
}

// Text of a note; {0}, {1} and {2} are its numbers.
struct Sentence {
  NoteKind kind;
  const char* pattern;
};
constexpr Sentence kSentences[] = {
    {NoteKind::kText, "{name}"},
    {NoteKind::kFailure, "{name}"},
    {NoteKind::kUnreadableNote, "the trace has an unreadable note"},
    {NoteKind::kAgentNotLoaded, "the agent was never loaded into the program: nothing was recorded"},
    {NoteKind::kNotAnswered,
     "nothing was recorded: heaptap didn't answer in time when the process began (it was stopped, or got no CPU time)"},
    {NoteKind::kNoCallSeen,
     "no call of an allocation function was seen: the program doesn't allocate, or its own allocator is statically "
     "linked: use --via ptrace"},
    {NoteKind::kStrangerConnected,
     "a foreign process connected to heaptap and was rejected: it didn't know this session's secret"},
    {NoteKind::kLogFull,
     "events were lost because the program was faster than heaptap, whose log of {0} KiB was full (--on-overflow=wait "
     "makes it wait)"},
    {NoteKind::kCollectorStalled,
     "events were lost because heaptap was paused for {0} s while its log was full: it was stopped, or got no CPU time "
     "(the log had {1} KiB, and may grow to {2} KiB)"},
    {NoteKind::kNoRoomForThread, "events were lost: no room for another thread, or for another nested signal handler"},
    {NoteKind::kNoRoomForTracedCall,
     "events were lost: no room for another thread, or no breakpoint possible where a call returned"},
    {NoteKind::kLogDamaged,
     "the log of {0} threads was damaged (overwritten by the program?): later events of these threads are missing"},
    {NoteKind::kModulesLeftOut, "{0} loaded objects were not recorded: there were too many"},
    {NoteKind::kStackTableFull, "the table of call stacks was full: later new stacks are cut short"},
    {NoteKind::kStacksCut,
     "some stacks were deeper than {0} frames: of these the innermost {1} to {2} are kept (--depth N keeps up to N of "
     "every "
     "stack, which takes long in deep recursions)"},
    {NoteKind::kLabelsNotKept,
     "{0} times the table of tags and pools was full: allocations under these count for the enclosing ones"},
    {NoteKind::kConnectionLost,
     "the connection to the machine where the program ran was lost for good: later events are missing"},
    {NoteKind::kRowsLeftOut,
     "{0} loaded objects lack unwind tables that the host has: no room for all of them, and call stacks end there"},
    {NoteKind::kReleasesNotSeen,
     "{0} blocks were allocated again without a recorded release: they were freed by functions that heaptap doesn't "
     "intercept, and count as freed"},
    {NoteKind::kBlocksNotKept,
     "{0} blocks didn't fit into the memory of --aggregate, and their releases were not seen: live blocks are unknown "
     "(use a larger --aggregate-memory)"},
    {NoteKind::kStacksNotKept,
     "{0} allocations are counted for other stacks: the memory of --aggregate was full (use a larger "
     "--aggregate-memory)"},
    {NoteKind::kExecNotFollowed, "the program executed another one, which was not recorded: use -e to follow it"},
    {NoteKind::kExecRefused, "it executed a program that isn't recorded: {name}"},
    {NoteKind::kExecWhileLeaving, "it executed a program that isn't recorded: heaptap was detaching from it"},
    {NoteKind::kTracerDetached, "the tracer had to detach from the process before its end: later events are missing"},
    {NoteKind::kTracerOutOfTime,
     "the tracer has used the CPU time that its limit allows (ulimit -t) and detached: later events are missing"},
    {NoteKind::kHandedOver,
     "while it handled signal {0}, the program let another one trace it (a crash reporter?): the tracer detached, so "
     "that it can"},
    {NoteKind::kProcessorTimeLimited,
     "its CPU time is limited to {0} s (ulimit -t), and stops for the tracer count towards it: it may be killed "
     "earlier than without heaptap"},
    {NoteKind::kTracerBrokeOff, "the tracer failed ({name})"},
    {NoteKind::kTracedPageMissing,
     "the tracer detached from the program, which keeps running: a page of its memory, which another program or a file "
     "system has to provide, didn't arrive within 2 s; record again when that responds"},
    {NoteKind::kNotDetachedInTime, "the tracer did not detach in time: the last events may be missing"},
    {NoteKind::kMemoryNotOpened,
     "nothing of the process is recorded: its memory can't be opened (too many open files, or not permitted)"},
    {NoteKind::kEntryNotWatched,
     "{name} in {module} is not intercepted: its first instruction can't be emulated; its calls are missing"},
    {NoteKind::kEntryNotWritable, "{name} in {module} is not intercepted: its memory can't be written"},
    {NoteKind::kReturnsNotSeen,
     "not every return of {name} in {module} is intercepted: some of its instructions can't be decoded; calls may be "
     "missing"},
    {NoteKind::kLaterObjectsNotWatched,
     "objects loaded later are not intercepted: the loader's notification can't be intercepted"},
    {NoteKind::kUnwindTableCompressed,
     "{module}: its unwind tables are compressed, and stacks may end there; `objcopy --decompress-debug-sections` "
     "fixes it"},
    {NoteKind::kStaticWithoutFunctions,
     "{module}: the program is static and has none of the functions that heaptap intercepts (a Go program's runtime "
     "doesn't use malloc)"},
    {NoteKind::kThreadsGoneAtEnd,
     "the program ended without a call of exit, and {0} of its threads were gone when its memory was scanned: what "
     "only their stacks pointed to would be shown as lost"},
    {NoteKind::kNoScanAfterExec,
     "no leak scan was made at the end: the program executed another one, and its memory was gone"},
    {NoteKind::kNoScanAtEnd,
     "no leak scan was made at the end: the program was killed, ended by a system call of its own, or executed another "
     "program"},
    {NoteKind::kNoTracedScanAtEnd,
     "no leak scan was made at the end: the program was killed, or executed another program"},
    {NoteKind::kNoScanTracerLeft,
     "no leak scan was made at the end: the tracer had detached from the program while it was running"},
    {NoteKind::kScanHeadDamaged, "a leak scan can't be used: its beginning, at byte {0}, is damaged or missing"},
    {NoteKind::kScanCutOff,
     "leak scan {0} can't be used: the trace has {1} of its {2} frames (the recording was cut off there)"},
    {NoteKind::kThreadInKernel,
     "thread {0} is deep in the kernel and could not be stopped: what only its registers point to is not seen"},
    {NoteKind::kMemoryNotRead, "{0} bytes of memory could not be read"},
    {NoteKind::kBlocksMisplaced, "{0} blocks have impossible addresses; they were left out"},
    {NoteKind::kMappingsNotSearched, "{0} large shared mappings of files were not searched for pointers"},
    {NoteKind::kBreakShared,
     "{0} bytes of the brk heap are not the C library's, or its chunks don't lead there: they count as roots"},
    {NoteKind::kHeapNotKnown, "not all blocks are known: the rest of the heap counts as roots, so leaks may be missed"},
    {NoteKind::kEarlierBlocks,
     "{0} blocks in {1} bytes from before the recording are in the scan, by glibc's own data and without stacks; "
     "larger "
     "ones and other allocators' memory count as roots, so leaks may be missed"},
    {NoteKind::kCopiedWhileRunning,
     "the memory was copied while the program ran: of {1} bytes, {0} were read while it was paused (written since, or "
     "shared)"},
    {NoteKind::kPausedThroughout, "the program was paused for the whole scan, since its memory wasn't copied: {name}"},
    {NoteKind::kHeldByRing,
     "the program has an io_uring: blocks that only requests in flight point to (user_data, buffers) are held by the "
     "kernel, which can't be asked, and may be shown as lost"},
    {NoteKind::kCoreWithoutKernel,
     "a core file doesn't have what the kernel kept for the program: blocks that only the data of an epoll instance, "
     "of a timer or of an io_uring pointed to may be shown as lost"},
    {NoteKind::kCoreTruncated,
     "the core is truncated: it has {0} of {1} bytes; what is missing is unknown, and so is whether a block that "
     "nothing else points to is lost"},
    {NoteKind::kPointersLeftOut, "there are more pointers between blocks than a scan can keep; some were left out"},
    {NoteKind::kCommandCut, "the command line is shown truncated"},
    {NoteKind::kImportedHeaptrack,
     "not in heaptrack's file: which function was called, by which thread, which releases are bad, how long blocks "
     "lived, and whether unfreed blocks are lost"},
    {NoteKind::kImportedMassif,
     "massif's file has the live bytes at {0} moments, and their stacks at {1} of them ([not detailed] at the others); "
     "not in it: what happened in between, blocks, calls, threads, and whether unfreed memory is lost"},
    {NoteKind::kImportedPages, "with --pages-as-heap massif counts pages that the program mapped, not blocks"},
    {NoteKind::kImportedPeak,
     "massif's snapshot of the peak has {0} bytes; another one, of which it didn't keep the stacks, has {1}"},
    {NoteKind::kImportedExtra, "not counted: up to {0} bytes that the allocator needed for itself (mem_heap_extra_B)"},
    {NoteKind::kImportedStacks, "not counted: up to {0} bytes of threads' stacks (mem_stacks_B)"},
    {NoteKind::kImportedTrees, "the sums of {0} snapshots are wrong: their stacks were left out"},
    {NoteKind::kImportedLinesSkipped, "{0} malformed lines of the file were left out"},
    {NoteKind::kSuppressionsCut, "the trace has more suppressions than are read: some are left out"},
};

// After "a program that", or "programs that".
const char* reason_of(uint64_t outcome) {
  switch (static_cast<wire::ExecOutcome>(outcome)) {
    case wire::ExecOutcome::kStatic:
      return "statically linked: --via ptrace records that";
    case wire::ExecOutcome::kOtherLoader:
      return "for another C library: --via ptrace records that";
    case wire::ExecOutcome::kOtherMachine:
      return "for 32 bits or another CPU: --via ptrace records those of 32 bits";
    case wire::ExecOutcome::kPrivileged:
      return "with privileges (setuid, setgid or capabilities)";
    case wire::ExecOutcome::kSanitizer:
      return "built with a sanitizer";
    case wire::ExecOutcome::kUnreadable:
      return "that can't be read";
    case wire::ExecOutcome::kOutOfReach:
      return "from where the agent's library or heaptap can't be reached (another root or network, or no permission)";
    case wire::ExecOutcome::kEnvironment:
      return "in a way that isn't followed (an environment that is too large or another heaptap's, or a spawn into "
             "another directory or with other rights)";
    case wire::ExecOutcome::kBesideThreads:
      return "by system or popen beside other threads, which isn't followed";
    case wire::ExecOutcome::kNotFollowed:
      return "that isn't followed (-f records children)";
    case wire::ExecOutcome::kNone:
    case wire::ExecOutcome::kHandedOn:
      break;
  }
  return "for a reason that this version doesn't know";
}

std::string child_exec_text(const Note& note) {
  const uint64_t count = note.number(0);
  return fmt::format("{} executed a program {}, and {} not recorded there",
                     count == 1 ? "a child" : fmt::format("{} children", count), reason_of(note.number(1)),
                     count == 1 ? "is" : "are");
}

std::string unfollowed_text(uint64_t count) {
  return fmt::format("{} ran unrecorded: -f records children",
                     count == 1 ? "1 child process" : fmt::format("{} child processes", count));
}

std::string own_allocator_text(const Note& note) {
  if (note.number(0) != 0)
    return fmt::format("{}: a Go program, whose runtime doesn't use malloc: its own memory can't be recorded",
                       note.module);
  return fmt::format("{} defines its own malloc, whose calls the agent doesn't see: use --via ptrace", note.module);
}

std::string unwatched_text(const Note& note) {
  return fmt::format(
      "{} releases were of blocks that no intercepted function allocated{}: the allocator has other functions that "
      "return blocks (such as a strdup of its own), so leaks, invalid and double frees are unknown; with the C "
      "library's allocator they are known",
      note.number(0), note.module.empty() ? "" : fmt::format(" (most by {})", note.module));
}

std::string past_hooks_text(const Note& note) {
  if (note.module.empty())
    return "libraries were loaded with their own scope (RTLD_DEEPBIND or dlmopen), and their calls bypass the agent: "
           "use --via ptrace";
  return fmt::format(
      "{} calls internal functions of the C library (__libc_malloc, …), bypassing the agent: use --via ptrace",
      note.module);
}

std::string other_names_text(const Note& note) {
  const std::string more = note.number(0) != 0 ? fmt::format(" and {} more", note.number(0)) : "";
  return fmt::format(
      "{} allocates or frees blocks by functions that the agent doesn't intercept ({}{}): use --via ptrace",
      note.module, note.name, more);
}

std::string unreached_text(uint64_t count) {
  return fmt::format(
      "{} forked {} not recorded: heaptap couldn't be reached from where {} (another network namespace, a system call "
      "filter, no free descriptor), or didn't answer in time",
      count, count == 1 ? "child was" : "children were", count == 1 ? "it is" : "they are");
}

std::string unreadable_text(const Note& note) {
  const uint64_t reason = note.number(0);
  if (reason == ETIMEDOUT)
    return fmt::format("{}: its file system didn't respond, so only its exported functions are intercepted",
                       note.module);
  return fmt::format(
      "{}: its file can't be read ({}), so only its exported functions are intercepted; heaptap run as root could open "
      "the mapped file",
      note.module, reason == 0 ? "it was replaced by another file" : base::reason_of(static_cast<int>(reason)));
}

std::string missing_memory_text(const Note& note) {
  return fmt::format(
      "{} of the program's own memory, in {}, are not in the core (cut off, excluded by coredump_filter or "
      "MADV_DONTDUMP, shared with a file, or never used): blocks that nothing else points to are unknown",
      counted(note.number(0), "byte"), counted(note.number(1), "mapping"));
}

std::string unknown_files_text(const Note& note) {
  return fmt::format("{} of files {} not in the core: pointers that the program may have written there are unknown",
                     counted(note.number(0), "mapping"), note.number(0) == 1 ? "is" : "are");
}

std::string missing_file_text(const Note& note) {
  const uint64_t reason = note.number(0);
  return fmt::format("{}: {}; its functions, and stacks through them, are unknown", note.module,
                     reason == 0 ? "the file here is not the one of the core (another build-id, or none)"
                                 : "its file can't be read: " + base::reason_of(static_cast<int>(reason)));
}

std::string no_room_text(const Note& note) {
  const std::string who = note.name.empty()
                              ? "the machine had little memory left"
                              : fmt::format("the memory group (cgroup) {} had little left of its limit of {}",
                                            note.name, base::format_bytes(note.number(1) * 1024));
  return fmt::format(
      "events were lost because the log was full at {} KiB and couldn't grow: {} (the log takes no memory that "
      "programs could need)",
      note.number(0), who);
}

std::string given_up_text(const Note& note) {
  return fmt::format(
      "gave up on {}: its file system{} didn't respond and wasn't used any more; names and stacks of files there may "
      "be missing",
      note.module, note.name.empty() ? "" : fmt::format(" ({})", note.name));
}

std::string stripped_text(const Note& note) {
  constexpr uint64_t kHostHasNone = 1;
  constexpr uint64_t kHostIsNotBelieved = 2;
  const std::string fact =
      fmt::format("{}: the program is static and stripped, and its malloc can't be located", note.module);
  if (note.number(0) == kHostHasNone) {
    return fact +
           ": pass --symbols DIR or --sysroot DIR with its unstripped file (same build-id), or run the unstripped "
           "program";
  }
  if (note.number(0) == kHostIsNotBelieved) {
    return fact +
           " safely: it has no unwind table to confirm the functions of its unstripped file; run the unstripped "
           "program";
  }
  return fmt::format("{}: install its debug file{}, or run the unstripped program", fact,
                     note.name.empty() ? "" : fmt::format(" ({})", note.name));
}

std::string clock_text(const std::string& why) {
  return "events are ordered by a counter shared by all threads, which is slower than the processors' clocks: " + why;
}

// For a note of a later version: all its data.
std::string unknown_text(const Note& note) {
  std::string text =
      fmt::format("a note that only a newer heaptap can show (note {}", static_cast<uint32_t>(note.kind));
  if (!note.numbers.empty()) text += fmt::format("; {}", fmt::join(note.numbers, ", "));
  if (!note.module.empty()) text += "; " + note.module;
  if (!note.name.empty()) text += "; " + note.name;
  return text + ")";
}

std::string unjoined_text(const Note& note) {
  constexpr size_t kResident = 2;  // its number
  const bool is_one = note.number(0) == 1;
  const std::string resident = note.numbers.size() > kResident
                                   ? fmt::format(", {} of them resident", base::format_bytes(note.number(kResident)))
                                   : "";
  return fmt::format("{} ended and {} not joined (pthread_join or pthread_detach): {} {} mapped{}",
                     counted(note.number(0), "thread"), is_one ? "was" : "were",
                     is_one ? "its stack keeps" : "their stacks keep", base::format_bytes(note.number(1)), resident);
}

std::string unread_interpreter_text(const Note& note) {
  const std::string which =
      note.number(1) == 0 ? "this version of Python" : fmt::format("Python {}.{}", note.number(0), note.number(1));
  const std::string why = note.number(0) == 0
                              ? "the program loaded no Python interpreter"
                              : which + " isn't supported (3.9 to 3.13 are, with a global interpreter lock)";
  return fmt::format("--python: {}: stacks have native frames only", why);
}

// Older traces have the first number alone.
std::string unplaced_text(const Note& note) {
  constexpr std::array<std::string_view, wire::kUnplacedReasonCount> kReasons = {
      "in signal handlers", "without the interpreter's lock or in a subinterpreter", "too deep in recursion",
      "by code whose names can't be read or kept", "where the Python frames don't match the native stack"};
  std::vector<std::pair<uint64_t, std::string_view>> reasons;
  for (size_t i = 0; i < kReasons.size(); ++i) {
    if (note.number(i + 1) != 0) reasons.emplace_back(note.number(i + 1), kReasons[i]);
  }
  std::ranges::stable_sort(reasons, std::greater(), [](const auto& each) { return each.first; });
  std::string why = fmt::format("made {}", fmt::join(kReasons, ", or "));
  if (reasons.size() == 1) why = fmt::format("made {}", reasons[0].second);
  if (reasons.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [count, reason] : reasons)
      parts.push_back(fmt::format("{}{} {}", base::format_count(count), parts.empty() ? " made" : "", reason));
    why = fmt::format("{}", fmt::join(parts, ", "));
  }
  const uint64_t all = note.number(0);
  return fmt::format("--python: {} {} native frames only: {}", counted(all, "allocation"), all == 1 ? "has" : "have",
                     why);
}

std::string only_last_text(const Note& note) {
  return fmt::format(
      "--ring: everything after {} is here; of before, what was live then is, and {} of {} that were released by then "
      "are not, so an earlier peak is unknown",
      base::format_duration(note.number(0)), counted(note.number(1), "allocation"), base::format_bytes(note.number(2)));
}

// Kinds whose sentence depends on their data.
std::optional<std::string> varying_text(const Note& note) {
  switch (note.kind) {
    case NoteKind::kClockNotWanted:
      return clock_text("HEAPTAP_CLOCK=counter is set");
    case NoteKind::kClockNotKnown:
      return clock_text("the kernel doesn't say whether the processors' clocks agree");
    case NoteKind::kClockNotShared:
      return clock_text("this CPU has no clock shared by all processors that heaptap knows");
    case NoteKind::kClockNotUsed:
      return clock_text("the kernel takes its time from " + note.name + ", not from the processors' clocks");
    case NoteKind::kChildrenUnreached:
      return unreached_text(note.number(0));
    case NoteKind::kChildrenNotFollowed:
      return unfollowed_text(note.number(0));
    case NoteKind::kCallsPastHooks:
      return past_hooks_text(note);
    case NoteKind::kOtherNamesCalled:
      return other_names_text(note);
    case NoteKind::kOwnAllocator:
      return own_allocator_text(note);
    case NoteKind::kOnlyTheLast:
      return only_last_text(note);
    case NoteKind::kUnwatchedFunctions:
      return unwatched_text(note);
    case NoteKind::kHandedToMaker:
      return note.number(0) != 0 ? "it started a program that it traces itself (a debugger?): the tracer detached, so "
                                   "that it can"
                                 : "it let its parent trace it (a debugger?): the tracer detached, so that it can";
    case NoteKind::kExecNotRecorded:
      return fmt::format("the program executed another one, which is not recorded: one {}", reason_of(note.number(0)));
    case NoteKind::kChildExecNotRecorded:
      return child_exec_text(note);
    case NoteKind::kTracerEnded:
      return end_of_tracer(note) + ": later events are missing";
    case NoteKind::kObjectNotReadable:
      return unreadable_text(note);
    case NoteKind::kStaticAndStripped:
      return stripped_text(note);
    case NoteKind::kCoreLacksMemory:
      return missing_memory_text(note);
    case NoteKind::kCoreLacksFiles:
      return unknown_files_text(note);
    case NoteKind::kCoreFileMissing:
      return missing_file_text(note);
    case NoteKind::kLogWithoutRoom:
      return no_room_text(note);
    case NoteKind::kThreadsNotJoined:
      return unjoined_text(note);
    case NoteKind::kFileGivenUp:
      return given_up_text(note);
    case NoteKind::kFramesNotPlaced:
      return unplaced_text(note);
    case NoteKind::kInterpreterNotRead:
      return unread_interpreter_text(note);
    default:
      return std::nullopt;
  }
}

// "process 12", "processes 12, 13, 14 and 7 more".
std::string processes_text(const std::vector<uint32_t>& pids) {
  constexpr ptrdiff_t kMaxNamed = 3;
  const std::vector<uint32_t> named(pids.begin(), pids.begin() + std::min(std::ssize(pids), kMaxNamed));
  const std::string more = named.size() < pids.size() ? fmt::format(" and {} more", pids.size() - named.size()) : "";
  return fmt::format("process{} {}{}", pids.size() == 1 ? "" : "es", fmt::join(named, ", "), more);
}

}  // namespace

std::string end_of_tracer(const Note& note) {
  return fmt::format("the tracer ended unexpectedly ({})", note.number(0) != 0
                                                               ? fmt::format("killed by signal {}", note.number(1))
                                                               : fmt::format("status {}", note.number(1)));
}

std::string sentence_of(const Note& note) {
  const auto* const plain = std::ranges::find(kSentences, note.kind, &Sentence::kind);
  if (plain != std::end(kSentences)) {
    return fmt::format(fmt::runtime(plain->pattern), note.number(0), note.number(1), note.number(2),
                       fmt::arg("module", note.module), fmt::arg("name", note.name));
  }
  return varying_text(note).value_or(unknown_text(note));
}

std::vector<std::string> sentences_of(const std::vector<Note>& notes) {
  std::vector<std::string> sentences;
  std::map<std::string, std::vector<uint32_t>> processes;  // by their sentence
  for (const Note& note : notes) {
    std::string sentence = sentence_of(note);
    if (note.pid != 0) {
      std::vector<uint32_t>& pids = processes[sentence];
      if (!pids.empty() && pids.back() == note.pid) continue;
      pids.push_back(note.pid);
      if (pids.size() > 1) continue;
    }
    sentences.push_back(std::move(sentence));
  }
  for (std::string& sentence : sentences) {
    if (const auto found = processes.find(sentence); found != processes.end())
      sentence.insert(0, processes_text(found->second) + ": ");
  }
  return sentences;
}

std::vector<std::string> program_faults(const std::vector<Note>& of_scan) {
  std::vector<Note> faults;
  std::ranges::copy_if(of_scan, std::back_inserter(faults),
                       [](const Note& note) { return note.kind == NoteKind::kThreadsNotJoined; });
  return sentences_of(faults);
}

std::string name_of(NoteKind kind) {
  const Facts* const facts = facts_of(kind);
  return facts != nullptr ? facts->name : fmt::format("kind_{}", static_cast<uint32_t>(kind));
}

uint64_t count_of(const Note& note) {
  const Facts* const facts = facts_of(note.kind);
  return facts != nullptr && facts->counts ? note.number(0) : 1;
}

}  // namespace heaptap::findings
