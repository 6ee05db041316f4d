// Service for a recording's clients: executes their requests and sends them news. In the collector's one thread, between drains.
#pragma once
#include <poll.h>

#include <functional>
#include <optional>
#include <vector>

#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/recording_service.h"
#include "capture/supervision/recording_source.h"
#include "common/base/result.h"
#include "common/control/control_messages.h"
#include "common/endpoint/socket_file.h"
#include "record/recordings/server.h"

namespace heaptap::recordings {

class ControlService : public supervision::RecordingService {
 public:
  // Traces of all `processes` are written on this machine.
  ControlService(supervision::RecordedProcesses& processes, supervision::RecordingSource& source);

  void add_waits(std::vector<pollfd>& waits) const override;
  void serve() override;

 private:
  // Facts of a process reported to clients.
  struct Told {
    uint32_t pid = 0;
    uint32_t image = 1;
    uint32_t scans = 0;
    uint32_t marks = 0;
  };
  using Reply = base::Result<message::Fields>;

  void tell_what_happened();
  void tell_of(const supervision::RecordedProcess& process, Told& told);
  void answer(const recordings::Server::Request& request);
  Reply reply_to(const message::Message& message);
  Reply settings() const;
  Reply list() const;
  Reply figures(const control::ProcessRequest& request);
  Reply marks(const control::ProcessRequest& request);
  Reply switch_to(const control::ProcessRequest& request, bool on);
  Reply mark(std::optional<uint64_t> pid, model::MarkKind kind, const std::string& name);
  Reply scan(const control::ProcessRequest& request);
  Reply set_depth(const control::DepthRequest& request);
  Reply detach(const control::ProcessRequest& request);
  Reply kill(const control::KillRequest& request);
  void snapshot(const recordings::Server::Request& request);
  bool give_ended_trace(const recordings::Server::Request& request, const control::SnapshotRequest& asked);

  // The process named by a request: without a PID the first one.
  base::Result<supervision::RecordedProcess*> one(std::optional<uint64_t> pid);
  // For the process that it names: without a PID for all.
  Reply for_each(std::optional<uint64_t> pid, const std::function<base::Result<>(supervision::RecordedProcess&)>& act);

  supervision::RecordedProcesses& processes_;
  supervision::RecordingSource& source_;
  std::optional<endpoint::SocketFile> file_;  // none: it couldn't be created
  recordings::Server server_;
  std::vector<Told> told_;
  size_t ended_count_ = 0;
};

}  // namespace heaptap::recordings
