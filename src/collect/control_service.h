// Service for a recording's clients: executes their requests and sends them news. In the collector's one thread, between drains.
#pragma once
#include <poll.h>

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collect/recorded_processes.h"
#include "collect/recording_service.h"
#include "collect/recording_source.h"
#include "control/server.h"
#include "control/socket_file.h"

namespace heaptap::collect {

class ControlService : public RecordingService {
 public:
  ControlService(RecordedProcesses& processes, RecordingSource& source);

  void add_waits(std::vector<pollfd>& waits) const override;
  void serve() override;

 private:
  // Facts of a process reported to clients.
  struct Told {
    uint32_t pid = 0;
    uint32_t image = 1;
    uint32_t scans = 0;
    uint32_t marks = 0;
    bool is_on = true;
  };
  using Reply = base::Result<control::Fields>;

  void tell_what_happened();
  void tell_of(const RecordedProcess& process, Told& told);
  void tell_end(const Told& told);
  void answer(const control::Server::Request& request);
  Reply reply_to(const control::Message& message);
  Reply settings() const;
  Reply list() const;
  Reply figures(const control::Fields& request);
  Reply marks(const control::Fields& request);
  Reply switch_to(const control::Fields& request, bool on);
  Reply mark(const control::Fields& request, model::MarkKind kind);
  Reply scan(const control::Fields& request);
  Reply set_depth(const control::Fields& request);
  Reply detach(const control::Fields& request);
  Reply kill(const control::Fields& request);
  void snapshot(const control::Server::Request& request);
  bool give_ended_trace(const control::Server::Request& request);

  // The process named by a request: without a name the first one.
  base::Result<RecordedProcess*> one(const control::Fields& request);
  // For each process that it names: without a name for all.
  Reply for_each(const control::Fields& request, const std::function<base::Result<>(RecordedProcess&)>& act);

  RecordedProcesses& processes_;
  RecordingSource& source_;
  std::optional<control::SocketFile> file_;  // none: it couldn't be created
  control::Server server_;
  std::vector<Told> told_;
  size_t ended_count_ = 0;
};

}  // namespace heaptap::collect
