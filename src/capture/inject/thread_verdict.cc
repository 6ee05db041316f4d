#include "capture/inject/thread_verdict.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "common/arch/cpu.h"
#include "common/arch/native.h"

namespace heaptap::inject {
namespace {

// Words of the line; false: there are no more.
bool next_word(std::string_view& text, std::string_view& word) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  const size_t end = std::min(text.find_first_of(" \n"), text.size());
  word = text.substr(0, end);
  text.remove_prefix(end);
  return !word.empty();
}

bool next_number(std::string_view& text, uint64_t& value) {
  std::string_view word;
  if (!next_word(text, word) || !word.starts_with("0x")) return false;
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
  return error == std::errc() && end == word.data() + word.size();
}

// For something from a file, without a limit. Of some of the kernel's own files (inotify) a read ends with EINTR; a socket's that waits
// for all of its bytes, with those that have come.
bool waits_for_file(const ThreadPlace& place, const WaitFacts& facts) {
  constexpr std::array<std::string_view, 6> kPlain = {
      "pipe:", "/dev/pts/", "/dev/tty", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[signalfd]"};
  constexpr uint64_t kWaitsForAll = 0x100;  // MSG_WAITALL
  const bool is_socket = facts.file.starts_with("socket:") && !facts.may_end_early;
  switch (place.call) {
    case 0: /* read */
      return is_socket ||
             std::ranges::any_of(kPlain, [&](std::string_view plain) { return facts.file.starts_with(plain); });
    case 43:  /* accept */
    case 288: /* accept4 */
      return is_socket;
    case 45: /* recvfrom */
      return is_socket && (place.arguments[3] & kWaitsForAll) == 0;
    case 47: /* recvmsg */
      return is_socket && (place.arguments[2] & kWaitsForAll) == 0;
    default:
      return false;
  }
}

}  // namespace

ThreadPlace parse_thread_place(std::string_view text) {
  ThreadPlace place;
  std::string_view word;
  if (!next_word(text, word)) return place;
  if (word == "running") {
    place.kind = ThreadPlace::Kind::kRunning;
    return place;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), place.call);
  if (error != std::errc() || end != word.data() + word.size()) return place;
  for (uint64_t& argument : place.arguments) {
    if (place.call >= 0 && !next_number(text, argument)) return ThreadPlace{};
  }
  if (!next_number(text, place.stack_pointer) || !next_number(text, place.program_counter)) return ThreadPlace{};
  place.kind = place.call >= 0 ? ThreadPlace::Kind::kInCall : ThreadPlace::Kind::kInKernel;
  return place;
}

Verdict judge_running(const ThreadPlace& place, std::span<const base::AddressRange> inner) {
  if (place.kind == ThreadPlace::Kind::kGone) return Verdict::kGone;
  if (place.kind != ThreadPlace::Kind::kInCall) return Verdict::kStop;
  const arch::Cpu* const cpu = arch::cpu_of(arch::native::kArchitecture);
  if (cpu == nullptr || cpu->makes_tasks(static_cast<uint64_t>(place.call))) return Verdict::kStop;
  return is_outside(place.program_counter, inner) ? Verdict::kSafe : Verdict::kStop;
}

Offerer offerer_at(const ThreadPlace& place) {
  const arch::Cpu* const cpu = arch::cpu_of(arch::native::kArchitecture);
  switch (place.kind) {
    case ThreadPlace::Kind::kRunning:
      return Offerer::kThread;
    case ThreadPlace::Kind::kGone:  // it has the number of none
      return Offerer::kChild;
    case ThreadPlace::Kind::kInCall:
      return cpu != nullptr && cpu->makes_tasks(static_cast<uint64_t>(place.call)) ? Offerer::kChild
                                                                                   : Offerer::kUnknown;
    default:
      return Offerer::kUnknown;
  }
}

bool has_interrupted(std::span<const uint64_t> stack, std::span<const base::AddressRange> inner) {
  constexpr uint64_t kAlwaysSet = 2;  // of the flags
  constexpr uint64_t kFlags = uint64_t{1} << 22;
  constexpr uint64_t kSegment = 0x33;  // of 64-bit code, in the low half of a word with others
  for (size_t i = 0; i + kInterruptedWords <= stack.size(); ++i) {
    const bool is_context =
        (stack[i + 1] & kAlwaysSet) != 0 && stack[i + 1] < kFlags && (stack[i + 2] & 0xffff) == kSegment;
    if (is_context && !is_outside(stack[i], inner)) return true;
  }
  return false;
}

// Numbers of x86-64 (Linux arch/x86/entry/syscalls/syscall_64.tbl). Of calls with a relative timeout the kernel keeps the time at which
// they end (restart_block), or writes what is left of it to where it was, but of epoll_wait.
std::optional<WaitArguments> wait_arguments(int64_t call) {
  switch (call) {
    case 23: /* select */
      return WaitArguments{.timeout = 4};
    case 270: /* pselect6 */
      return WaitArguments{.timeout = 4, .mask = 5, .is_mask_indirect = true};
    case 271: /* ppoll */
      return WaitArguments{.timeout = 2, .mask = 3};
    default:
      return std::nullopt;
  }
}

unsigned fitness_for_calls(const ThreadPlace& place, const WaitFacts& facts) {
  constexpr std::array kContinue = {int64_t{7} /* poll */,       int64_t{34} /* pause */,
                                    int64_t{35} /* nanosleep */, int64_t{61} /* wait4 */,
                                    int64_t{202} /* futex */,    int64_t{230} /* clock_nanosleep */,
                                    int64_t{247} /* waitid */,   int64_t{219} /* restart_syscall: of one of these */};
  constexpr std::array kContinueWithoutTimeout = {int64_t{232} /* epoll_wait */, int64_t{281} /* epoll_pwait */};
  constexpr size_t kTimeout = 3;
  if (place.kind == ThreadPlace::Kind::kRunning) return 3;
  if (place.kind != ThreadPlace::Kind::kInCall) return 0;
  if (std::ranges::find(kContinue, place.call) != kContinue.end()) return 2;
  if (wait_arguments(place.call)) return facts.keeps_timeout && !facts.has_mask ? 2 : 0;
  if (waits_for_file(place, facts)) return 2;
  const bool waits_forever = static_cast<int32_t>(place.arguments[kTimeout]) < 0;
  const bool is_polling = std::ranges::find(kContinueWithoutTimeout, place.call) != kContinueWithoutTimeout.end();
  return is_polling && waits_forever ? 1 : 0;
}

}  // namespace heaptap::inject
