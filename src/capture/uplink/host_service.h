// Service for the host during a recording, on the target's machine: executes its requests, and ends the recording when
// the host is gone for too long.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/recording_service.h"
#include "capture/supervision/recording_source.h"
#include "capture/uplink/forwarded_recording.h"
#include "capture/uplink/line_to_host.h"
#include "capture/uplink/local_console.h"
#include "common/control/control_messages.h"

namespace heaptap::uplink {

class HostService : public supervision::RecordingService {
 public:
  // `recordings`: the ones owned by `processes`.
  HostService(LineToHost& host, supervision::RecordedProcesses& processes, const ForwardedRecordings& recordings,
              supervision::RecordingSource& source, std::chrono::nanoseconds orphan_timeout, bool may_kill = true)
      : host_(host),
        processes_(processes),
        recordings_(recordings),
        source_(source),
        orphan_timeout_(orphan_timeout),
        may_kill_(may_kill),
        console_(processes, &host) {
    host_.set_takes_next_host(true);
  }
  ~HostService() override { host_.set_takes_next_host(false); }

  void add_waits(std::vector<pollfd>& waits) const override {
    host_.add_waits(waits);
    console_.add_waits(waits);
  }
  void serve() override;
  [[nodiscard]] bool wants_end() const override { return wants_end_; }

 private:
  void answer(const message::Message& request);
  // Forwards report signals sent to processes.
  void look_for_reports();
  // Whether the host sends requests but doesn't receive the answers.
  [[nodiscard]] bool is_deaf();
  base::Result<> perform(const message::Message& request);
  base::Result<> perform_passed_on(const message::Message& request);
  base::Result<> mark(const control::MarkRequest& request);
  base::Result<> kill(const control::KillRequest& request);
  base::Result<> await_scan(ForwardedRecording& recording);
  base::Result<> signal_program(int signal);
  base::Result<> for_each(std::optional<uint64_t> pid,
                          const std::function<base::Result<>(supervision::RecordedProcess&)>& act);

  LineToHost& host_;
  supervision::RecordedProcesses& processes_;
  const ForwardedRecordings& recordings_;
  supervision::RecordingSource& source_;
  const std::chrono::nanoseconds orphan_timeout_;
  const bool may_kill_;  // the host's signals may be delivered to processes
  // Executed requests whose answers may not have reached the host: up to that message.
  struct Unheard {
    uint64_t sent;
    bool is_scan;
  };
  std::deque<Unheard> unheard_;
  bool wants_end_ = false;
  LocalConsole console_;
};

void answer(line::ReliableLine& line, uint64_t number, const base::Result<>& result);

}  // namespace heaptap::uplink
