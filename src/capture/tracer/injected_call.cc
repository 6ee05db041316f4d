#include "capture/tracer/injected_call.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/process/thread_state.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/base/wait_status.h"

namespace heaptap::tracer {
namespace {

// By a filter, or to the few calls of the strict mode.
bool is_filtered(pid_t thread) {
  const std::string status = base::read_small_file(base::process_file(thread, "status"), 8192);
  return base::status_number(status, "Seccomp").value_or(0) != 0;
}

// Where the kernel's own object has a system call instruction. 0: nowhere.
uint64_t find_call_instruction(const std::vector<process::Mapping>& map, const arch::Cpu& cpu,
                               const process::TracedMemory& memory) {
  const std::span<const uint8_t> wanted = cpu.system_call_instruction();
  if (wanted.empty()) return 0;
  for (const process::Mapping& mapping : map) {
    if (!mapping.is_kernels("[vdso]")) continue;
    std::vector<uint8_t> bytes(base::at_most(65536, mapping.range.size()));
    bytes.resize(memory.read_some(mapping.range.begin, bytes.data(), bytes.size()));
    const auto found = std::ranges::search(bytes, wanted);
    return found.empty() ? 0 : mapping.range.begin + static_cast<uint64_t>(found.begin() - bytes.begin());
  }
  return 0;
}

}  // namespace

InjectedCall::InjectedCall(pid_t thread, const arch::Cpu& cpu, process::TracedMemory& memory)
    : thread_(thread), cpu_(cpu), memory_(memory) {
  constexpr uint64_t kBelowStack = 1024;  // and what may be in use below it
  if (!process::read_registers(thread, registers_) || !cpu.runs(registers_) || is_filtered(thread)) return;
  if (ptrace(PTRACE_GETSIGMASK, thread, sizeof(mask_), &mask_) != 0) return;
  room_ = (cpu.stack_pointer(registers_) - kBelowStack) & ~uint64_t{63};
  if (!memory.comes(room_, kRoomBytes, process::Access::kWrite) || !memory.read(room_, before_.data(), kRoomBytes))
    return;
  instruction_ = find_call_instruction(process::read_memory_map(thread), cpu, memory);
}

InjectedCall::~InjectedCall() {
  if (!has_run_ || end_status_) return;
  memory_.write(room_, before_.data(), kRoomBytes);
  process::write_registers(thread_, registers_);
  ptrace(PTRACE_SETSIGMASK, thread_, sizeof(mask_), &mask_);
}

// None: it has ended. A leader that was killed may have passed its last stop already, and is reported only after all
// other threads, some of which may wait for this one: so this never waits for a zombie.
std::optional<base::WaitStatus> InjectedCall::next_stop() const {
  constexpr unsigned kYields = 64;
  constexpr useconds_t kPauseUs = 50;
  for (unsigned i = 0;; ++i) {
    const auto status = process::read_thread_status(thread_);
    const bool has_ended = !status || status->has_ended();
    const auto stop = base::wait_for(thread_, __WALL | WNOHANG);  // after the look at it: one that ended since is seen
    if (stop || has_ended) return stop;
    if (i < kYields) {
      sched_yield();
    } else {
      usleep(kPauseUs);
    }
  }
}

// To its beginning, or its end. All signals are blocked that can be.
bool InjectedCall::go_to_call_stop() {
  while (true) {
    if (ptrace(PTRACE_SYSCALL, thread_, nullptr, nullptr) != 0) return false;
    const auto status = next_stop();
    if (!status) return false;
    if (!status->has_stopped() || status->event() == PTRACE_EVENT_EXIT) {
      end_status_ = status;
      return false;
    }
    if (status->is_in_system_call()) return true;
    if (status->event() == PTRACE_EVENT_STOP) {
      was_interrupted_ = true;
    } else {
      signal_ = status->stop_signal();
    }
  }
}

std::optional<int64_t> InjectedCall::make(uint64_t number, const std::array<uint64_t, 4>& arguments) {
  if (!is_possible() || end_status_) return std::nullopt;
  const uint64_t all = ~uint64_t{0};
  arch::RegisterImage registers = registers_;
  cpu_.set_system_call(registers, instruction_, number, arguments);
  has_run_ = true;
  ptrace(PTRACE_SETSIGMASK, thread_, sizeof(all), &all);
  if (!process::write_registers(thread_, registers) || !go_to_call_stop() || !go_to_call_stop()) return std::nullopt;
  if (!process::read_registers(thread_, registers)) return std::nullopt;
  return static_cast<int64_t>(cpu_.result(registers));
}

}  // namespace heaptap::tracer
