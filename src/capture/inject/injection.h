// One process with the agent in it: what was mapped there, and what was patched.
//
//   plan ▸ put_in ▸ patch … unpatch ▸ take_out
//
// Each step but the first runs in a process of its own, whose end makes the kernel detach from all threads without stopping any. What
// is known of the process stays here.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/inject/agent_image.h"
#include "capture/inject/hooked_functions.h"
#include "capture/inject/memory_file.h"
#include "capture/inject/quiesce.h"
#include "capture/inject/return_frame.h"
#include "capture/log/log_parts.h"
#include "capture/process/thread_state.h"
#include "capture/process/traced_memory.h"
#include "common/base/address_range.h"
#include "common/base/result.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::inject {

class RemoteThread;
struct OpenedThere;
struct StepOutcome;

struct GivenLog {
  int descriptor = -1;
  size_t bytes = 0;
  const log::LogParts* parts = nullptr;
};

class Injection {
 public:
  // Checks all conditions, and finds the functions. Doesn't touch the process.
  static base::Result<std::unique_ptr<Injection>> plan(pid_t process, const AgentImage& image);

  // What an injector has left in the process that was killed. Null: nothing. An error: it is alive, or of another build.
  static base::Result<std::unique_ptr<Injection>> find_leftover(pid_t process, const AgentImage& image);
  // Takes that out. If it fails it may be tried again.
  base::Result<> clear();

  // Maps the agent and the log into the process, and begins a session there. If it fails nothing is left, or, where no thread is there any
  // more that could make calls, memory that no code leads to, which a later attach takes out.
  base::Result<> put_in(const GivenLog& log);
  // Calls go to the agent from here on.
  base::Result<> patch();
  // The functions are the program's again. If it fails they may still go to the agent, which records nothing more.
  base::Result<> unpatch();
  // Removes all mappings. If it fails, what is left is never used again: a thread may still be in it.
  base::Result<> take_out();
  // Gives the program its action of SIGTRAP back, which is the agent's while code is replaced, and after that if no thread was there to make
  // the call.
  void give_back_traps();
  // That, and then lets the agent handle fatal signals at their default. False: no thread was there that could do all of it.
  bool settle();

  // Says to the agent whether this process answers what it offers at the program's end.
  void answer_ends(bool answers) const;

  [[nodiscard]] pid_t process() const { return process_; }
  // Whether the process still is the program that it was, with the agent in it.
  [[nodiscard]] bool is_there() const;
  [[nodiscard]] const QuiesceFigures& figures() const { return figures_; }
  // Whether this is code of the agent.
  [[nodiscard]] bool is_agents(uint64_t program_counter) const;
  // A stopped thread that waits in there at the end of the process, as it came: with the registers that count, or as the signal has
  // interrupted it. None: that can't be read.
  [[nodiscard]] std::optional<process::StoppedThread> as_it_came(process::StoppedThread thread,
                                                                 const wire::ExitNotice& notice) const;
  // Why operators new and delete are recorded as malloc and free; empty: they aren't.
  [[nodiscard]] const std::string& why_plain() const { return found_.why_plain; }

 private:
  static constexpr std::chrono::milliseconds kPatience{3000};  // until a thread is there that can make calls
  struct Function {
    PatchPlan plan;
    wire::InjectedFunction told{};
    uint64_t replacement = 0;  // address of the function that is called in its place; 0: none
    uint64_t entry = 0;        // of its trampoline
  };
  // Memory for trampolines near the functions that they belong to. The first one has the agent behind it.
  struct Area {
    base::AddressRange near;  // code of a function
    size_t capacity_bytes = 0;
    uint64_t start = 0;
    std::vector<uint8_t> code = {};
  };
  Injection(pid_t process, pid_t live_thread, const AgentImage& image)
      : process_(process), memory_(live_thread), file_(live_thread), image_(image) {}

  base::Result<> find_functions(pid_t live_thread);
  [[nodiscard]] std::optional<process::StoppedThread> as_interrupted(const process::StoppedThread& waiting,
                                                                     uint64_t context) const;
  base::Result<> find_sites();
  base::Result<> take_over(const wire::InjectedAgent& contract, const std::vector<process::Mapping>& map);
  void choose_functions(const GivenLog& log);
  Area& area_for(const PatchPlan& plan);
  base::Result<> find_places();
  [[nodiscard]] std::vector<uint8_t> make_image(const GivenLog& log) const;
  base::Result<> make_trampolines();
  base::Result<> add_trampoline(Function& function, uint64_t hook);
  [[nodiscard]] bool is_mapped() const { return !areas_.empty() && areas_.front().start != 0; }
  [[nodiscard]] uint64_t image_start() const { return areas_.front().start + areas_.front().capacity_bytes; }
  // Of an area; with the agent, for the first one.
  [[nodiscard]] base::AddressRange mapped(const Area& area) const;
  [[nodiscard]] std::vector<base::AddressRange> mapped() const;
  base::Result<RemoteThread> stop_one(std::chrono::milliseconds patience);
  void map_areas(const wire::InjectedAgent& contract, StepOutcome& result);
  [[nodiscard]] bool write_image(const std::vector<uint8_t>& image) const;
  void begin(const GivenLog& log, const wire::InjectedAgent& contract, StepOutcome& result);
  [[nodiscard]] std::vector<base::AddressRange> find_own_mappings(const GivenLog& log) const;
  void tell_mappings() const;
  static void unmap(RemoteThread& thread, std::span<const base::AddressRange> ranges);
  [[nodiscard]] std::vector<process::Mapping> read_map() const;
  bool stop_recording();
  void take_traps();
  std::optional<uint64_t> give_order(RemoteThread& thread, wire::InjectedOrder order) const;
  std::optional<uint64_t> have_obeyed(wire::InjectedOrder order, std::chrono::milliseconds patience);
  bool wait_for_borrowed();
  bool have_left_actions();
  void wait_for_children() const;
  StepOutcome exchange_traps(bool takes);
  [[nodiscard]] TrapAction trap_action() const;
  bool set_traps(RemoteThread& thread, bool takes);
  void take_out_beginning(const GivenLog& log, const OpenedThere& opened);
  base::Result<> remove_mappings(std::vector<base::AddressRange>& ranges);
  base::Result<> quiesce(bool installs);
  base::Result<> wait_until_left();
  base::Result<> give_back_signals();
  bool finish(const std::vector<Replacement>& replacements, Replaced replaced) const;
  bool put_back(const std::vector<Replacement>& replacements) const;
  [[nodiscard]] wire::InjectedAgent read_contract() const;
  [[nodiscard]] bool is_within() const;

  pid_t process_;
  pid_t injector_ = getpid();
  process::TracedMemory memory_;
  MemoryFile file_;  // the same, for what other processes than this one do
  const AgentImage& image_;
  HookedFunctions found_;
  std::vector<Function> functions_;  // those that are hooked; the number of a hook is its index
  std::vector<Replacement> sites_;   // of their code
  std::vector<Area> areas_;
  ReturnCode return_code_;
  uint64_t first_stack_ = 0;
  std::vector<base::AddressRange> others_;  // its other mappings; once they are being removed, all that are left
  bool is_removing_ = false;
  bool has_traps_ = false;      // the action of SIGTRAP may be the agent's
  bool wants_signals_ = false;  // the agent doesn't handle fatal signals yet
  bool has_signals_ = false;    // handlers of fatal signals may be the agent's
  int tries_for_signals_ = 0;
  bool have_left_actions_ = false;
  bool may_be_borrowed_ = false;  // a thread, by a step that was killed
  QuiesceFigures figures_;
};

}  // namespace heaptap::inject
