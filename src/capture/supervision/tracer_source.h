// Source of recordings by the tracer: of attached processes, of a program started under it, and of their forked and
// executed successors.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "capture/supervision/kernel_waits.h"
#include "capture/supervision/pending_answers.h"
#include "capture/supervision/recording_source.h"
#include "capture/supervision/report_requests.h"
#include "capture/tracer/tracer_client.h"
#include "common/base/wait_status.h"

namespace heaptap::supervision {

// News for the user on attached processes, and on the tracer.
struct TracingNews {
  enum class Kind : uint8_t { kRecording, kNotRecorded, kEndedBefore, kTracerEnded, kTracerWaits, kTracerLooks };
  Kind kind = Kind::kRecording;
  pid_t process = 0;         // for kTracerWaits and kTracerLooks: the tracer itself
  std::string program = {};  // for kRecording, where known
  std::string why = {};  // for kNotRecorded: an error's message; for the tracer: its position in the kernel, if known
  base::WaitStatus status = {};  // for kTracerEnded
};

// Note on an unexpected end of the tracer.
model::Note tracer_end_note(base::WaitStatus status);

struct TracerSourceOptions {
  bool follows_exec = false;
  std::function<void(const TracingNews&)> tell = {};  // optional
};

class TracerSource : public RecordingSource {
 public:
  // Its processes run on this machine: each has a log half.
  TracerSource(RecordedProcesses& processes, tracer::TracerClient& line, TracerSourceOptions options)
      : processes_(processes), line_(line), options_(std::move(options)), waits_(line.process()) {}

  void attach(pid_t process);
  // Number of processes passed to attach() that couldn't be recorded.
  [[nodiscard]] unsigned failures() const { return failures_; }
  // Whether the tracer ended before its work did.
  [[nodiscard]] bool is_broken() const { return is_broken_; }

  // Writer of reports that programs themselves ask for; used while news is taken.
  void serve_programs(ReportRequests& reports) { reports_ = &reports; }

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  [[nodiscard]] bool is_settled() const override { return asked_.empty(); }
  bool expects_more() override { return !is_settled(); }
  base::Result<uint32_t> scan(RecordedProcess& process) override;
  bool has_left(const RecordedProcess& process) override;
  void detach(RecordedProcess& process) override;
  void accept_no_more() override;

 private:
  void look_after_tracer();
  void take(const tracer::LogWanted& message);
  void take(const tracer::Attached& message);
  void take(const tracer::NotAttached& message);
  void take(const tracer::Exiting& message);
  void take(const tracer::Asked& message);
  void take(const tracer::Left& message);
  void take(const tracer::Noted& message);
  void take(const tracer::Paused& message);
  void take(const tracer::TracerGone& message);
  void tell(const TracingNews& news) const {
    if (options_.tell) options_.tell(news);
  }
  // Stops recording a process, or never starts, for a reason to be noted in its trace.
  void give_up(pid_t process, const model::Note& why);

  RecordedProcesses& processes_;
  tracer::TracerClient& line_;
  TracerSourceOptions options_;
  ReportRequests* reports_ = nullptr;
  std::shared_ptr<PendingAnswers> answers_ = std::make_shared<PendingAnswers>();  // shared: reports may outlive this
  std::set<pid_t> asked_;   // attach() was called, without an answer yet
  std::set<pid_t> traced_;  // recorded by the tracer, at least once
  std::map<pid_t, tracer::Left::Reason> left_;
  unsigned failures_ = 0;
  bool accepts_ = true;
  bool is_gone_ = false;  // the tracer
  KernelWaits waits_;     // of the tracer
  bool is_broken_ = false;
};

}  // namespace heaptap::supervision
