// Tracer: holds processes by ptrace, handles their breakpoint stops, and executes heaptap's requests. Runs in one
// thread, since ptrace binds a process to the thread that seized it.
//
//   wait for a stop ▸ breakpoint? ▸ CallObserver ▸ log ▸ emulate the instruction ▸ go on
//                   ▸ new thread, fork, exec, signal, end
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/tracer/call_observer.h"
#include "capture/tracer/next_stop.h"
#include "capture/tracer/traced_process.h"
#include "capture/tracer/tracee.h"
#include "capture/tracer/tracer_affinity.h"
#include "capture/tracer/tracer_packet.h"
#include "common/base/result.h"
#include "common/base/wait_status.h"
#include "common/model/note_code.h"

namespace heaptap::tracer {

// Notification of the thread that waits for stops that there are other requests.
class RequestSignal {
 public:
  virtual bool rang() = 0;                 // since the last call
  virtual void want_ticks(bool want) = 0;  // rings every few milliseconds
 protected:
  ~RequestSignal() = default;
};

class Tracer {
 public:
  // `socket`: to heaptap.
  Tracer(int socket, const TracerOptions& options, RequestSignal& request_signal);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Returns when heaptap is gone or finished, and no traced process can hit a breakpoint any more.
  void run();

 private:
  // Stops: tracer.cc.
  void watch();
  void take_untaken();
  void answer(pid_t id, base::WaitStatus status);
  void answer_event(Tracee& thread, int event, int signal);
  void answer_trap(Tracee& thread);
  void answer_breakpoint(Tracee& thread, const Site& site, arch::RegisterImage& registers);
  void go_over(Tracee& thread, const Site& site, arch::RegisterImage& registers);
  static bool answer_return(Tracee& thread, const Site& site, const arch::RegisterImage& registers);
  void answer_jump(Tracee& thread, const Site& site, const arch::RegisterImage& registers);
  void answer_system_call(Tracee& thread);
  void answer_signal(Tracee& thread, int signal);
  [[nodiscard]] bool is_report_request(const Tracee& thread, int signal) const;
  void answer_end(pid_t id, base::WaitStatus status);
  void process_ended(TracedProcess& process, base::WaitStatus status);
  static void call_is_lost(Tracee& thread);
  void may_miss_returns(const AddressSpace& space, uint64_t address);
  static void end_awaits(Tracee& thread);
  static void plant_again(Tracee& thread);
  void resume(Tracee& thread);
  void count_pause(TracedProcess& process, TracedProcess::Clock::time_point since);
  void tell_pauses(TracedProcess& process, TracedProcess::Clock::time_point now);

  // SIGTRAP state of the program: tracer_traps.cc.
  bool answer_program_trap(Tracee& thread);
  static bool stands_aside(const Tracee& thread);
  void begin_giving(Tracee& thread);
  void give_trap(TracedProcess& process);
  void give_as_it_is(Tracee& thread);
  void play_again(Tracee& thread);
  void give(Tracee& thread);
  bool sends_again(Tracee& receiver);
  static bool begins_call_again(Tracee& thread);
  void answer_repeated_call(Tracee& thread);
  void end_giving(TracedProcess& process);
  void end_giving_to(Tracee& thread);
  void give_up_giving_to(Tracee& thread);
  static void uses_action(Tracee& thread, const arch::RegisterImage& registers);
  static void uses_action_by_number(Tracee& thread, const arch::RegisterImage& registers);
  static void answer_action_call(Tracee& thread, const arch::RegisterImage& registers);
  static void enter_action_call(Tracee& thread, const arch::SignalActionCall& call);
  static void end_action_call(Tracee& thread, const arch::SignalActionCall& call, bool has_failed);
  static void sets_mask(Tracee& thread, const arch::RegisterImage& registers);
  bool restore_trap_action(Tracee& thread);
  void learn_trap_action(Tracee& thread);
  static TrapAction trap_action_before_breakpoints(const Tracee& thread, const TrapAction& maker);
  [[nodiscard]] bool awaits_trap_action(TracedProcess& process);
  bool call_for_action(Tracee& thread, bool restores);
  void tell_trap_action(Tracee& thread);
  bool pays_before_leaving(Tracee& thread);
  bool gives_before_leaving(Tracee& thread);
  static TrapAction trap_action_after_exec(const TrapAction& before);

  // Requests of heaptap, and states of processes: tracer_processes.cc.
  void read_packets();
  void obey(Packet& packet);
  void refuse_log(pid_t process);
  // What waits for another kind of scan goes on waiting.
  void end_may_go_on(pid_t process, wire::ExitKind kind);
  void want_log(TracedProcess& process, LogWanted::Reason reason, pid_t thread);
  // The process is about to end: reports it to heaptap once. True: the thread waits.
  bool tell_end(Tracee& thread, const wire::ExitNotice& notice);
  void tell_ending(Tracee& thread, const wire::ExitNotice& notice);
  bool tell_exit_start(Tracee& thread);
  void tell_next_ending(TracedProcess& process);
  bool answer_thread_end(Tracee& thread);
  void threads_may_end(const TracedProcess& process);
  bool answer_exit_call(Tracee& thread, const Site& site, const arch::RegisterImage& registers);
  void tell_notes(TracedProcess& process);

  // Attaching, and the start of a recording: tracer_attaching.cc.
  void attach(pid_t process);
  base::Result<> try_to_attach(pid_t process);
  base::Result<> seize_threads(TracedProcess& process);
  void stop_clone_parents(TracedProcess& process);
  void attach_before_exec(pid_t process);
  void give_log(Packet& packet);
  void begin_when_all_are_seized(TracedProcess& process);
  void look_after_attached();
  void give_up_attaching(TracedProcess& process, const base::Error& error);
  void begin(TracedProcess& process);

  // New threads and processes, and their creators: tracer_children.cc.
  struct EarlyStop {
    base::WaitStatus status;
    TracedProcess::Clock::time_point since;
  };
  struct CloneParent {
    pid_t id;
    Phase phase;
    std::shared_ptr<AddressSpace> space;
    TrapAction trap_action;
    TracedProcess::Clock::time_point since;  // it has ended
  };
  void answer_child(Tracee& clone_parent, int event);
  void take_child(Tracee& clone_parent, pid_t id, int event);
  [[nodiscard]] bool is_making(const Tracee& thread) const;
  static std::vector<pid_t> vfork_children_of(const Tracee& thread);
  void attach_vfork_children(TracedProcess& process);
  static void begin_copy(TracedProcess& child, const AddressSpace* original);
  void stopped_early(pid_t id, base::WaitStatus status);
  static CloneParent clone_parent_of(const TracedProcess& process);
  void keep_as_clone_parent(const CloneParent& ended);
  void adopt_orphans();
  [[nodiscard]] std::optional<CloneParent> find_clone_parent(pid_t child, bool also_living);
  void adopt(pid_t id, base::WaitStatus status, const std::optional<CloneParent>& clone_parent);
  void begin_child(Tracee& child);
  void answer_exec(pid_t id);

  // Questions of programs: tracer_questions.cc.
  bool ask(Tracee& thread, const CallObserver::Resolved& question, arch::RegisterImage& registers);
  void take_answer(const PacketHeader& answer);
  void answer_question(Tracee& thread, int error, const Answer::Counts& counts = {});
  void give_up_questions(bool all);
  [[nodiscard]] bool has_questions() const;

  // Detaching, and holding for a scan: tracer_leaving.cc.
  static bool is_for_stops(const Tracee& thread);
  void hand_over(Tracee& thread);
  void hand_to_maker(TracedProcess& process);
  void leave(TracedProcess& process, Left::Reason reason);
  void leave_vfork_children(const TracedProcess& process, Left::Reason reason);
  static bool waits_in_vain(const TracedProcess& process);
  void leave_what_waits();
  void leave_all(Left::Reason reason = Left::Reason::kDetached);
  void run_out_of_time();
  void break_off(const char* why);
  void detach_stopped();
  static void put_back(Tracee& thread);
  static void leave_memory(TracedProcess& process);
  void detach(Tracee& thread);
  void check_left(TracedProcess& process);
  void forget_thread(pid_t id);
  void forget_process(pid_t id);
  [[nodiscard]] bool may_end();
  void hold(pid_t process);
  void check_held(TracedProcess& process);
  void tell_held(TracedProcess& process);
  void tell_not_held(pid_t process, const base::Error& error);
  void give_up_hold(TracedProcess& process, const base::Error& error);
  void release(pid_t process);
  static void restart_call(Tracee& thread);

  Tracee& add_thread(pid_t id, TracedProcess& process);
  TracedProcess& add_process(pid_t id, pid_t parent, Phase phase);
  [[nodiscard]] TracedProcess* find_process(pid_t id);
  [[nodiscard]] std::vector<Tracee*> threads_of(const TracedProcess& process);
  void adapt_ticks();
  void send_unsent();
  [[nodiscard]] bool awaits_heaptap() const;
  void look_after_heaptap();
  void send(Packet packet);
  void tell(PacketKind kind, pid_t process, const std::string& text = {});
  void tell(PacketKind kind, pid_t process, const base::Error& error) { tell(kind, process, error.message); }
  void note(pid_t process, const model::Note& note) { tell(PacketKind::kNoted, process, model::encode(note)); }

  int socket_;
  TracerOptions options_;
  RequestSignal& request_signal_;
  // Freed when memory runs out: the amount needed to detach from all.
  std::vector<std::unique_ptr<char[]>> reserve_;
  ThreadNews answered_;                // what is being handled; thread 0: nothing
  std::optional<ThreadNews> untaken_;  // the last stop: its thread may stay in it
  std::deque<ThreadNews> unanswered_;  // ends seen while waiting for something else
  bool broke_off_ = false;
  bool closing_ = false;  // heaptap is gone or finished
  TracedProcess::Clock::time_point closing_since_{};
  std::map<pid_t, std::unique_ptr<TracedProcess>> processes_;
  std::unordered_map<pid_t, std::unique_ptr<Tracee>> threads_;
  std::unordered_map<pid_t, EarlyStop> early_;  // first stops of children not yet reported by their clone parents
  std::vector<CloneParent>
      ended_clone_parents_;  // ended ones that may not have reported their last children; the latest last
  bool ticks_ = false;
  std::deque<Packet> unsent_;  // waiting until heaptap reads
  uint64_t last_question_ = 0;
  pid_t heaptap_ = getppid();
  TracedProcess::Clock::time_point heaptap_ran_at_ = TracedProcess::Clock::now();  // time of the last check
  TracerAffinity affinity_;
};

}  // namespace heaptap::tracer
