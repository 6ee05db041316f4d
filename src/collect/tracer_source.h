// Recordings by the tracer: of processes that it was asked to attach to, of the program that was started under it, and of
// what these fork and execute.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>

#include "collect/recording_source.h"
#include "tracer/tracer_client.h"

namespace heaptap::collect {

struct TracerSourceOptions {
  bool announce = false;  // say which processes are recorded, as soon as they are
  std::string way_out;    // with that: how the user ends it
  bool follows_exec = false;
  std::function<void(const std::string&)> say;  // tells the user a line; nothing is told where there is none
};

class TracerSource : public RecordingSource {
 public:
  TracerSource(RecordedProcesses& processes, tracer::TracerClient& line, TracerSourceOptions options)
      : processes_(processes), line_(line), options_(std::move(options)) {}

  void attach(pid_t process);
  // Of those that attach() was called for, how many couldn't be recorded.
  [[nodiscard]] unsigned failures() const { return failures_; }
  // The tracer came to its end before its work did.
  [[nodiscard]] bool is_broken() const { return is_broken_; }

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  [[nodiscard]] bool is_settled() const override { return asked_.empty(); }
  base::Result<uint32_t> scan(RecordedProcess& process) override;
  bool has_left(const RecordedProcess& process) override;
  void let_go(RecordedProcess& process) override;
  void accept_no_more() override;

 private:
  void take(const tracer::LogWanted& message);
  void take(const tracer::Attached& message);
  void take(const tracer::NotAttached& message);
  void take(const tracer::Exiting& message);
  void take(const tracer::Left& message);
  void take(const tracer::Noted& message);
  void take(const tracer::TracerGone& message);
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }
  // It isn't recorded, or not any more, for a reason that its trace should tell.
  void give_up(pid_t process, const std::string& why);

  RecordedProcesses& processes_;
  tracer::TracerClient& line_;
  TracerSourceOptions options_;
  std::set<pid_t> asked_;  // attach() was called, and no answer came yet
  std::map<pid_t, tracer::Left::Reason> left_;
  unsigned failures_ = 0;
  bool accepts_ = true;
  bool is_gone_ = false;  // the tracer
  bool is_broken_ = false;
};

}  // namespace heaptap::collect
