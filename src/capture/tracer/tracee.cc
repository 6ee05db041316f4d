#include "capture/tracer/tracee.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/process/stat_line.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/base/wait_status.h"

namespace heaptap::tracer {
namespace {

// A hexadecimal field of /proc/TID/status.
uint64_t mask_field(std::string_view status, std::string_view name) {
  constexpr int kBase = 16;
  return base::status_number(status, name, kBase).value_or(0);
}

}  // namespace

int Tracee::seize(pid_t id, bool stops_at_end) {
  constexpr long kOptions =
      PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
  const long options = kOptions | (stops_at_end ? long{PTRACE_O_TRACEEXIT} : 0);
  return ptrace(PTRACE_SEIZE, id, nullptr, options) == 0 ? 0 : errno;
}

bool Tracee::read_registers(arch::RegisterImage& registers) const {
  iovec place{registers.bytes, sizeof(registers.bytes)};
  if (ptrace(PTRACE_GETREGSET, id_, NT_PRSTATUS, &place) != 0) return false;
  registers.size = place.iov_len;
  return true;
}

bool Tracee::write_registers(const arch::RegisterImage& registers) const {
  iovec place{const_cast<uint8_t*>(registers.bytes), registers.size};
  return ptrace(PTRACE_SETREGSET, id_, NT_PRSTATUS, &place) == 0;
}

void Tracee::go_on() {
  stopped = false;
  group_stopped = false;
  const bool follows = repeats_call() || action_call.stops_left > 0 ||
                       (system_calls_left > 0 && (calls.has_interrupted() || handled_fault != 0));
  ptrace(follows ? PTRACE_SYSCALL : PTRACE_CONT, id_, nullptr, static_cast<long>(std::exchange(signal, 0)));
}

void Tracee::stay_stopped() {
  stopped = false;
  ptrace(PTRACE_LISTEN, id_, nullptr, nullptr);
}

void Tracee::interrupt() const { ptrace(PTRACE_INTERRUPT, id_, nullptr, nullptr); }

void Tracee::detach() { ptrace(PTRACE_DETACH, id_, nullptr, static_cast<long>(std::exchange(signal, 0))); }

std::optional<uint64_t> Tracee::signal_mask() const {
  uint64_t mask = 0;
  return ptrace(PTRACE_GETSIGMASK, id_, sizeof(mask), &mask) == 0 ? std::optional(mask) : std::nullopt;
}

bool Tracee::blocked_trap() const {
  const auto mask = signal_mask();
  return mask && blocked_before_trap(trap_mask, *mask);
}

void Tracee::set_signal_mask(uint64_t mask) const { ptrace(PTRACE_SETSIGMASK, id_, sizeof(mask), &mask); }

void Tracee::restore_signal_mask(bool was_sent) {
  const auto mask = signal_mask();
  if (!mask || !blocked_before_trap(trap_mask, *mask)) return;
  if ((*mask & signal_bit(SIGTRAP)) == 0) set_signal_mask(*mask | signal_bit(SIGTRAP));
  if (was_sent) signal = SIGTRAP;  // the kernel restores it, since it is blocked
}

void Tracee::read_trap_mask() {
  const std::string status = base::read_small_file(base::process_file(id_, "status"), 8192);
  trap_mask = TrapMask::of(mask_field(status, "SigBlk"));
}

bool Tracee::has_ended() const {
  const auto status = process::read_thread_status(id_);
  return status && status->has_ended();
}

std::optional<int64_t> Tracee::waits_in() const {
  const auto status = process::read_thread_status(id_);
  if (!status || (status->state != 'S' && status->state != 'D')) return std::nullopt;
  const std::string text = base::read_small_file(base::process_file(id_, "syscall"), 256);
  int64_t call = 0;
  const bool is_number = std::from_chars(text.data(), text.data() + text.size(), call).ec == std::errc{};
  return is_number ? std::optional(call) : std::nullopt;  // or "running"
}

bool Tracee::waits_in_kernel() const { return waits_in().value_or(-1) >= 0; }

bool Tracee::is_being_killed() const {
  const std::string status = base::read_small_file(base::process_file(id_, "status"), 8192);
  return (mask_field(status, "SigPnd") & signal_bit(SIGKILL)) != 0;
}

bool Tracee::ends_by_itself() const {
  unsigned long status = 0;
  return ptrace(PTRACE_GETEVENTMSG, id_, nullptr, &status) == 0 &&
         base::WaitStatus(static_cast<int>(status)).has_exited();
}

bool Tracee::has_pending_trap() const {
  const std::string status = base::read_small_file(base::process_file(id_, "status"), 8192);
  // A blocked SIGTRAP isn't from a breakpoint, which ignores the mask.
  return (mask_field(status, "SigPnd") & ~mask_field(status, "SigBlk") & signal_bit(SIGTRAP)) != 0;
}

bool Tracee::would_end_by(int number) const {
  for (const int harmless : {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    if (number == harmless) return false;
  }
  const std::string status = base::read_small_file(base::process_file(id_, "status"), 8192);
  return ((mask_field(status, "SigCgt") | mask_field(status, "SigIgn")) & signal_bit(number)) == 0;
}

bool Tracee::ignores(int number) const {
  const std::string status = base::read_small_file(base::process_file(id_, "status"), 8192);
  return (mask_field(status, "SigIgn") & signal_bit(number)) != 0;
}

bool Tracee::has_handler(int number) const {
  const std::string status = base::read_small_file(base::process_file(id_, "status"), 8192);
  return (mask_field(status, "SigCgt") & signal_bit(number)) != 0;
}

int Tracee::last_processor() const {
  const auto processor = process::StatLine::of(id_).number(process::StatLine::kProcessor);
  return processor ? static_cast<int>(*processor) : -1;
}

}  // namespace heaptap::tracer
