// Threads of a process, traced for as long as its code is being replaced. A thread that waits in a system call is left alone; others are
// stopped for a moment each, one by one; those that come to code that is being replaced wait there.
//
//   seize ▸ settle ▸ plant breakpoints ▸ settle ▸ write the tails ▸ settle ▸ write the first bytes ▸ settle ▸ (this process exits)
//
// The kernel detaches from all threads when this process exits, without stopping any: so this runs in a process of its own, and no
// thread may be in a stop of ours, or about to be, when it ends.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <vector>

#include "capture/inject/memory_file.h"
#include "capture/inject/return_frame.h"
#include "capture/process/memory_map.h"
#include "capture/tracer/trap_signal.h"
#include "common/arch/cpu.h"
#include "common/base/address_range.h"
#include "common/base/result.h"
#include "common/base/wait_status.h"

namespace heaptap::inject {

inline constexpr uint8_t kBreakpointByte = 0xcc;

// Code to be replaced, at the beginning of an instruction that no other one jumps to. Both have one length.
struct Replacement {
  uint64_t site = 0;
  std::vector<uint8_t> from;
  std::vector<uint8_t> to;
  std::vector<uint8_t> program = {};  // what a forked child gets there: the program's own
  uint64_t entry = 0;                 // where who comes to the site may go on meanwhile
  [[nodiscard]] base::AddressRange inner() const { return {site + 1, site + from.size()}; }
};

// How far a replacement has come: what another process makes of it if this one is killed.
enum class Replaced : uint8_t {
  kNothing,
  kPlanted,  // breakpoints may stand at the sites, behind which the old code is
  kPartly,   // behind them may be the one or the other
  kBehind,   // behind them is the new code
};

// Whether this code stands there.
bool is_code_at(const MemoryFile& memory, uint64_t site, const std::vector<uint8_t>& code);

struct QuiesceFigures {
  uint32_t threads = 0;
  uint32_t interrupted = 0;  // stopped for a moment, some more than once
  uint32_t held = 0;         // came to code that was being replaced, and waited
  uint64_t longest_hold_ns = 0;
};

// Action of SIGTRAP in the process that answers breakpoints once nobody traces it any more. The kernel takes it away when a thread that blocks
// the signal comes to one: then that thread sets it again.
struct TrapAction {
  ReturnCode code;
  uint64_t address = 0;  // as rt_sigaction(2) wants it. 0: there is none
};

class Quiesce {
 public:
  // `replaced`: where to say how far it has come.
  Quiesce(pid_t process, const MemoryFile& memory, TrapAction trap_action = {}, Replaced* replaced = nullptr)
      : process_(process), memory_(memory), trap_action_(trap_action), replaced_(replaced) {}
  Quiesce(const Quiesce&) = delete;
  Quiesce& operator=(const Quiesce&) = delete;

  base::Result<> seize();
  // Nothing has changed if this fails.
  base::Result<> replace(const std::vector<Replacement>& replacements);
  // Makes the code `from` again, wherever a replacement has ended that was killed.
  base::Result<> put_back(const std::vector<Replacement>& replacements);
  // Until each thread has been seen outside of this memory, and not in a handler that interrupted it there. False: not in time.
  bool wait_until_left(const std::vector<base::AddressRange>& memory);
  [[nodiscard]] const QuiesceFigures& figures() const { return figures_; }
  [[nodiscard]] std::vector<pid_t> threads() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Thread {
    bool is_safe = false;
    bool was_asked = false;        // to stop
    bool is_held = false;          // at a breakpoint, or about to be
    bool is_stopped = false;       // there
    bool has_lost_action = false;  // of SIGTRAP, which it is to set again
    bool is_waited_for =
        false;  // of a child that shares the memory: its parent waits until it ends, in a call that no stop reaches
    tracer::TrapMask mask{};
  };

  base::Result<bool> seize_new();
  [[nodiscard]] std::unexpected<base::Error> refusal() const;
  base::Result<> replace_planted(const std::vector<Replacement>& replacements);
  bool settle(std::chrono::milliseconds patience);
  void take_stops();
  void take_stop(pid_t id, base::WaitStatus status);
  void take_child(pid_t id, int event);
  void take_breakpoint(pid_t id, Thread& thread, arch::RegisterImage& registers, const Replacement& at);
  void renew_trap_action(pid_t id) const;
  void note(Replaced replaced) const;
  bool stays_at_breakpoint(pid_t id, Thread& thread) const;
  bool look(pid_t id, Thread& thread);
  [[nodiscard]] bool is_clean(uint64_t stack_pointer, uint64_t program_counter) const;
  [[nodiscard]] const Replacement* hit(pid_t id, arch::RegisterImage& registers) const;
  void repair_child(pid_t id) const;
  [[nodiscard]] bool is_all_told() const;
  void release_held();
  void resume(pid_t id, Thread& thread, base::WaitStatus status) const;
  void ask(pid_t id, Thread& thread);

  pid_t process_;
  const MemoryFile& memory_;
  TrapAction trap_action_;
  Replaced* replaced_;
  std::map<pid_t, Thread> threads_;
  std::map<pid_t, bool> children_;           // forked while this goes on; whether it has been repaired
  std::map<pid_t, base::WaitStatus> early_;  // first stops of children that aren't told of yet
  std::vector<Replacement> replacements_;
  bool is_planted_ = false;                // breakpoints may be in the code
  std::vector<base::AddressRange> inner_;  // where no thread may be, nor be interrupted
  std::vector<process::Mapping> map_;      // for bounds of stacks
  QuiesceFigures figures_;
  Clock::time_point planted_at_{};
};

}  // namespace heaptap::inject
