#include "apps/target/run.h"

#include <memory>
#include <utility>

#include "apps/target/announcement.h"
#include "apps/target/setup.h"
#include "capture/uplink/host_service.h"
#include "capture/uplink/line_to_host.h"
#include "capture/uplink/local_console.h"
#include "capture/uplink/recording_file.h"
#include "capture/uplink/target_session.h"
#include "common/base/stop_signals.h"

namespace heaptap::target {
namespace {

using Clock = std::chrono::steady_clock;

int status_of(const model::ExitStatus& exit) {
  constexpr int kBySignal = 128;
  return exit.signal ? kBySignal + *exit.signal : exit.code.value_or(0);
}

// Service of a recording to a file, without a host.
class FileService : public supervision::RecordingService {
 public:
  FileService(const uplink::RecordingFile& file, supervision::RecordedProcesses& processes)
      : file_(file), console_(processes, nullptr) {}

  void add_waits(std::vector<pollfd>& waits) const override { console_.add_waits(waits); }
  void serve() override { console_.serve(); }
  // If it can't be written any more, stop recording.
  [[nodiscard]] bool wants_end() const override { return file_.failure().has_value(); }

 private:
  const uplink::RecordingFile& file_;
  uplink::LocalConsole console_;
};

base::Result<int> record_to_file(const Options& options) {
  auto file = uplink::RecordingFile::create(options.output, options.force);
  if (!file) return std::unexpected(std::move(file).error());
  const auto recorded = uplink::record(
      options.order, target_options(options),
      {.uplink = *file,
       .service = [&file](supervision::RecordedProcesses& processes, const uplink::ForwardedRecordings&,
                          supervision::RecordingSource&) { return std::make_unique<FileService>(*file, processes); },
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

// False: no longer wanted.
bool wait_for_host(uplink::LineToHost& host) {
  constexpr int kPauseMs = 200;
  while (!host.has_met_host()) {
    if (base::stop_signals::requests() > 0) return false;
    host.wait(kPauseMs);
  }
  return true;
}

// All recordings have ended: wait until the host has all data, or until the timeout without a host.
void see_off(const Options& options, uplink::LineToHost& host, std::chrono::nanoseconds wait_budget) {
  constexpr int kPauseMs = 50;
  const Clock::time_point since = Clock::now();
  if (!host.has_met_host()) say(options, "all recorded programs have ended; waiting for a host");
  while (!host.has_left() && base::stop_signals::requests() == 0) {
    host.wait(kPauseMs);
    while (const auto message = host.next()) {
      if (message->kind == line::Kind::kFarewell) host.say_farewell();
      if (message->number != 0) {
        uplink::answer(host.link().line(), message->number, base::fail("the recording has ended"));
      }
    }
    const Clock::time_point alone = host.has_met_host() ? host.alone_since().value_or(Clock::now()) : since;
    if (Clock::now() - alone <= wait_budget) continue;
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
  uplink::LineToHost host(*std::move(connections), buffer_bytes(options));
  host.set_teller([&options](const line::LineNews& news) { tell(options, news); });
  host.set_companion(announcement);
  announcement.set_program(program_of(options.order));
  host.begin_own_session();
  if (options.wait) {
    base::stop_signals::forward_to(0);
    if (!wait_for_host(host)) return base::fail("not started: no host connected");
  }
  const uplink::TargetOptions target = target_options(options);
  const auto recorded = uplink::record_for_host_to_come(options.order, target, host);
  if (!recorded) return std::unexpected(recorded.error());
  see_off(options, host, target.orphan_timeout);
  return status_of(*recorded);
}

}  // namespace

base::Result<int> run(const Options& options) {
  return options.command == Command::kRecord ? record_to_file(options) : record_for_later_host(options);
}

}  // namespace heaptap::target
