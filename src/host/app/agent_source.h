// Recordings that agents in the processes ask for.
#pragma once
#include <map>
#include <thread>

#include "host/app/recording_source.h"
#include "target/agent_server.h"
#include "target/ending_desk.h"
#include "target/log_bell.h"
#include "target/process_watch.h"

namespace heaptap::app {

class AgentSource : public RecordingSource {
 public:
  AgentSource(RecordedProcesses& processes, target::AgentServer& server);
  ~AgentSource() override;

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  base::Result<uint32_t> scan(RecordedProcess& process) override;
  bool has_left(const RecordedProcess& process) override;
  void let_go(RecordedProcess& process) override;
  void accept_no_more() override {}

 private:
  void begin(const target::AgentRequest& request);
  void forget(RecordedProcess& process);
  void look_at_endings();
  // Somebody who doesn't belong to the program asked for a log.
  void note_refusals();
  // Tells all programs that wait that this one is at work.
  void show_progress();
  std::jthread keep_showing_progress();

  RecordedProcesses& processes_;
  target::AgentServer& server_;
  target::LogBell bell_;
  std::map<pid_t, target::ProcessWatch> watches_;  // of those that weren't let go
};

}  // namespace heaptap::app
