#include "heaptap_target/run.h"

#include <memory>
#include <utility>

#include "collect/stop_signals.h"
#include "heaptap_target/announcement.h"
#include "heaptap_target/setup.h"
#include "remote/host_line.h"
#include "remote/host_service.h"
#include "remote/local_console.h"
#include "remote/recording_file.h"
#include "remote/target_session.h"

namespace heaptap::target {
namespace {

using Clock = std::chrono::steady_clock;

int status_of(const model::ExitStatus& exit) {
  constexpr int kBySignal = 128;
  return exit.signal ? kBySignal + *exit.signal : exit.code.value_or(0);
}

// While nobody is there to ask for anything.
class FileService : public collect::RecordingService {
 public:
  FileService(const remote::RecordingFile& file, collect::RecordedProcesses& processes)
      : file_(file), console_(processes, nullptr) {}

  void add_waits(std::vector<pollfd>& waits) const override { console_.add_waits(waits); }
  void serve() override { console_.serve(); }
  // What can't be written any more needn't be recorded.
  [[nodiscard]] bool wants_end() const override { return file_.failure().has_value(); }

 private:
  const remote::RecordingFile& file_;
  remote::LocalConsole console_;
};

base::Result<int> record_to_file(const Options& options) {
  auto file = remote::RecordingFile::create(options.output, options.force);
  if (!file) return std::unexpected(std::move(file).error());
  const auto recorded = remote::record(
      options.order, target_options(options),
      {.outlet = *file,
       .service = [&file](collect::RecordedProcesses& processes,
                          collect::RecordingSource&) { return std::make_unique<FileService>(*file, processes); },
       .asks_for_scans = false});
  if (!recorded) {
    file->remove();
    return std::unexpected(recorded.error());
  }
  if (file->failure()) {
    complain(file->failure()->message);
  }
  say(options, "recorded into " + file->path() + "; on the host: heaptap connect " + file->path() + " -o TRACE.htap");
  return status_of(*recorded);
}

// False: it isn't wanted any more.
bool wait_for_host(remote::HostLine& host) {
  constexpr int kPauseMs = 200;
  while (!host.has_met_host()) {
    if (collect::stop_signals::requests() > 0) return false;
    host.wait(kPauseMs);
  }
  return true;
}

// All has ended: until the host has all of it, or none comes for so long.
void see_off(const Options& options, remote::HostLine& host, std::chrono::nanoseconds patience) {
  constexpr int kPauseMs = 50;
  const Clock::time_point since = Clock::now();
  if (!host.has_met_host()) say(options, "all recorded programs have ended; waiting for a host");
  while (!host.has_left() && collect::stop_signals::requests() == 0) {
    host.wait(kPauseMs);
    while (const auto message = host.next()) {
      if (message->kind == control::Kind::kFarewell) host.say_farewell();
      if (message->number != 0) {
        remote::answer(host.link().line(), message->number, base::fail("the recording has ended"));
      }
    }
    const Clock::time_point alone = host.has_met_host() ? host.alone_since().value_or(Clock::now()) : since;
    if (Clock::now() - alone <= patience) continue;
    complain("no host connected in time: the recording is lost; raise --orphan-timeout to wait longer");
    return;
  }
}

base::Result<int> record_for_later_host(const Options& options) {
  const auto security = security_of(options);
  if (!security) return std::unexpected(security.error());
  Announcement announcement;
  auto connections = options.goes_to_host ? go_to(options, *security) : listen(options, *security, announcement);
  if (!connections) return std::unexpected(std::move(connections).error());
  remote::HostLine host(*std::move(connections), buffer_bytes(options));
  host.set_teller([&options](const remote::LineNews& news) { tell(options, news); });
  host.set_companion(announcement);
  announcement.set_program(program_of(options.order));
  host.begin_own_session();
  if (options.wait) {
    collect::stop_signals::forward_to(0);
    if (!wait_for_host(host)) return base::fail("not started: no host connected");
  }
  const remote::TargetOptions target = target_options(options);
  const auto recorded = remote::record_for_host_to_come(options.order, target, host);
  if (!recorded) return std::unexpected(recorded.error());
  see_off(options, host, target.orphan_timeout);
  return status_of(*recorded);
}

}  // namespace

base::Result<int> run(const Options& options) {
  return options.command == Command::kRecord ? record_to_file(options) : record_for_later_host(options);
}

}  // namespace heaptap::target
