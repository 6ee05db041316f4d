// Recordings that agents in the processes ask for.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "collect/agent_server.h"
#include "collect/filter_look.h"
#include "collect/log_holders.h"
#include "collect/recording_source.h"
#include "log/exit_responder.h"
#include "log/log_waker.h"
#include "process/process_watch.h"

namespace heaptap::collect {

class AgentSource : public RecordingSource {
 public:
  AgentSource(RecordedProcesses& processes, AgentServer& server);
  ~AgentSource() override;

  // Stays until this process, which waits for its log already, has it; and then as long as there are children of recorded
  // processes which may ask for one: of a program that heaptap isn't the parent of, whose end isn't the end of all.
  void stay_for(pid_t process);

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  [[nodiscard]] bool is_settled() const override { return !stays_; }
  base::Result<uint32_t> scan(RecordedProcess& process) override;
  bool has_left(const RecordedProcess& process) override;
  void serve_programs(ReportRequests& reports) override { reports_ = &reports; }
  void let_go(RecordedProcess& process) override;
  void accept_no_more() override {}

 private:
  void begin(AgentRequest request);
  // A program that is recorded wants something of its recording.
  void answer(AgentRequest request);
  void look_after_others();
  void forget(RecordedProcess& process);
  void look_at_exits();
  // A filter of system calls that a program installed unseen: its agent is told.
  void look_at_filters();
  void write_all();
  // Somebody who doesn't belong to the program asked for a log.
  void note_refusals();
  // Tells all programs that wait that this one is at work.
  void show_progress();
  std::jthread keep_showing_progress();

  RecordedProcesses& processes_;
  AgentServer& server_;
  ReportRequests* reports_ = nullptr;
  log::LogWaker bell_;
  std::map<pid_t, process::ProcessWatch> watches_;  // of those that weren't detached
  std::map<pid_t, FilterLook> filters_;             // of those that none was found of
  std::chrono::steady_clock::time_point next_look_at_filters_;
  size_t next_for_filters_ = 0;
  // Where it stays for others.
  bool stays_ = false;
  bool looks_after_others_ = false;
  std::optional<process::ProcessWatch> awaited_;  // none: it came
  std::chrono::steady_clock::time_point awaited_until_;
  LogHolders holders_;
  std::set<pid_t> let_go_;  // these, and what they fork, aren't recorded any more
};

}  // namespace heaptap::collect
