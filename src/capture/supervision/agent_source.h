// Source of recordings requested by agents in the processes.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "capture/log/exit_responder.h"
#include "capture/log/log_waker.h"
#include "capture/process/filter_look.h"
#include "capture/process/process_watch.h"
#include "capture/supervision/agent_server.h"
#include "capture/supervision/log_holders.h"
#include "capture/supervision/recording_source.h"
#include "capture/supervision/report_requests.h"

namespace heaptap::supervision {

class AgentSource : public RecordingSource {
 public:
  // Its processes run on this machine: each has a log half. `patience`: the longest wait of an agent for its log.
  AgentSource(RecordedProcesses& processes, AgentServer& server,
              std::chrono::nanoseconds patience = std::chrono::seconds(wire::kAnswerSeconds));
  ~AgentSource() override;

  // Expects this process, which is waiting for its log: for a program whose parent isn't heaptap.
  void stay_for(pid_t process);

  // Writer of reports that programs themselves ask for; used while news is taken.
  void serve_programs(ReportRequests& reports) { reports_ = &reports; }

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  [[nodiscard]] bool is_settled() const override { return !awaited_; }
  // Also while children of recorded processes may still request a log, where these are followed.
  bool expects_more() override;
  base::Result<uint32_t> scan(RecordedProcess& process) override;
  bool has_left(const RecordedProcess& process) override;
  void detach(RecordedProcess& process) override;
  void accept_no_more() override { accepts_ = false; }

 private:
  void begin(AgentRequest request);
  // The agent is gone, with its process or without.
  void note_gone(RecordedProcess& process);
  // Handles a request of a recorded program.
  void answer(AgentRequest request);
  void forget(RecordedProcess& process);
  [[nodiscard]] bool follows_children() const;
  void look_at_exits();
  // Informs the agent of a program in which a system call filter was installed unseen.
  void look_at_filters();
  void write_all();
  // Notes log requests by processes that don't belong to the program.
  void note_refusals();
  // Shows progress to all programs that wait.
  void show_progress();
  std::jthread keep_showing_progress();

  RecordedProcesses& processes_;
  AgentServer& server_;
  std::chrono::nanoseconds patience_;
  std::chrono::steady_clock::time_point all_answered_at_;  // last time without a request that waits
  ReportRequests* reports_ = nullptr;
  log::LogWaker waker_;
  std::map<pid_t, process::ProcessWatch> watches_;  // of processes that weren't detached
  std::map<pid_t, process::FilterLook> filters_;    // of processes without a filter so far
  std::chrono::steady_clock::time_point next_look_at_filters_;
  size_t next_for_filters_ = 0;
  bool accepts_ = true;                           // else no more recordings begin
  std::optional<process::ProcessWatch> awaited_;  // none: it has come
  std::chrono::steady_clock::time_point awaited_until_;
  LogHolders holders_;        // only where children are followed
  std::set<pid_t> detached_;  // these, and their forked children, aren't recorded any more
};

}  // namespace heaptap::supervision
