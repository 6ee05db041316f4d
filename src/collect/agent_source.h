// Recordings that agents in the processes ask for.
#pragma once
#include <map>
#include <set>
#include <thread>

#include "collect/agent_server.h"
#include "collect/recording_source.h"
#include "log/exit_responder.h"
#include "log/log_waker.h"
#include "process/process_watch.h"

namespace heaptap::collect {

class AgentSource : public RecordingSource {
 public:
  AgentSource(RecordedProcesses& processes, AgentServer& server);
  ~AgentSource() override;

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  base::Result<uint32_t> scan(RecordedProcess& process) override;
  bool has_left(const RecordedProcess& process) override;
  void let_go(RecordedProcess& process) override;
  void accept_no_more() override {}

 private:
  void begin(AgentRequest request);
  void forget(RecordedProcess& process);
  void look_at_exits();
  // Somebody who doesn't belong to the program asked for a log.
  void note_refusals();
  // Tells all programs that wait that this one is at work.
  void show_progress();
  std::jthread keep_showing_progress();

  RecordedProcesses& processes_;
  AgentServer& server_;
  log::LogWaker bell_;
  std::map<pid_t, process::ProcessWatch> watches_;  // of those that weren't detached
  std::set<pid_t> let_go_;                          // these, and what they fork, aren't recorded any more
};

}  // namespace heaptap::collect
