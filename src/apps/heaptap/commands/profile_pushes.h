// Profiles of recorded programs, sent to a server at an interval (--push) by a thread of its own, which follows their traces: the recording
// doesn't wait for it, and goes on whatever becomes of it.
//
// Nothing is queued: a profile is made of the newest state when it can be sent, and stands for all moments that are due by then.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "analysis/query/analyze.h"
#include "apps/heaptap/options/push_options.h"
#include "capture/supervision/recorded_processes.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "views/client/stepped_trace.h"
#include "views/push/http_client.h"
#include "views/push/labels.h"
#include "views/push/sent_allocations.h"

namespace heaptap::app {

class ProfilePushes {
 public:
  // Null: nothing is to be pushed. Takes the token out of the environment; call before there are threads. `symbols`: sources of names.
  static base::Result<std::unique_ptr<ProfilePushes>> create(const PushOptions& options,
                                                             symbols::ResolverOptions symbols);
  // Ends at once.
  ~ProfilePushes();
  ProfilePushes(const ProfilePushes&) = delete;
  ProfilePushes& operator=(const ProfilePushes&) = delete;

  // The maker of recordings, whose programs are pushed; this must outlive it.
  [[nodiscard]] supervision::RecordingMaker followed(supervision::RecordingMaker maker);
  // To be called when programs have been started: they would inherit descriptors of connections.
  void begin();
  // To be called when all traces are complete: sends the last profiles, which takes a few seconds at most, and which Ctrl-C ends. Prints how
  // many were sent if `says_all`, and how many weren't in any case.
  void finish(bool says_all);

 private:
  using Clock = std::chrono::steady_clock;

  struct Program {
    uint32_t pid = 0;
    base::UniqueFd file;  // until it is opened
    std::unique_ptr<client::SteppedTrace> trace;
    push::Labels labels;
    push::SentAllocations allocations;
    uint64_t due = 0;            // moments since the last profile that was taken
    uint64_t since_unix_ns = 0;  // its time, or that of the start
    bool is_complete = false;    // nothing more comes
  };
  // Why there is no profile to be sent.
  struct Lack {
    bool is_final = false;  // there won't be one
    std::string why;        // empty: nothing was allocated since
  };

  ProfilePushes(const PushOptions& options, symbols::ResolverOptions symbols, std::unique_ptr<push::HttpClient> client);

  void add(const model::Capture& capture, const supervision::TraceHalf& trace);
  void serve();
  bool wait_until(Clock::time_point time);
  std::chrono::nanoseconds await_thread();
  void push_last();
  void take_new();
  void count_due();
  void push_due();
  bool push(Program& program);
  std::expected<std::string, Lack> make_body(Program& program, uint64_t now_unix_ns);
  std::expected<report::Report, Lack> read(Program& program);
  [[nodiscard]] std::string body_of(Program& program, const report::Report& report, uint64_t now_unix_ns) const;
  void give_up(Program& program, const std::string& why);
  void back_off();
  void tell(const std::string& why);
  void print_result(bool says_all);
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool may_wait() const;
  [[nodiscard]] bool is_interrupted() const;

  const push::Destination to_;
  const std::chrono::nanoseconds every_;
  const push::Labels labels_;
  const query::Query query_;
  const std::unique_ptr<push::HttpClient> client_;

  // Of the thread, and after it of finish(), which has a usual priority.
  std::vector<std::unique_ptr<Program>> programs_;
  std::set<std::string> told_;
  uint64_t sent_ = 0;
  uint64_t unsent_ = 0;
  std::string last_failure_;
  std::chrono::milliseconds pause_{0};  // since a failure; 0: none
  Clock::time_point retry_at_;

  // Of finish().
  bool is_last_ = false;        // the thread has ended
  Clock::time_point deadline_;  // for the server; reading isn't counted
  int requests_before_ = 0;     // for the end

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Program>> new_;
  size_t followed_ = 0;             // programs
  uint64_t too_many_ = 0;           // not followed
  std::atomic<bool> ends_ = false;  // the thread begins nothing more
  std::atomic<bool> is_canceled_ = false;
  std::atomic<bool> is_posting_ = false;
  bool is_done_ = true;  // no thread
  std::thread thread_;
};

// The maker's recordings, which are pushed. `pushes`: null: they aren't.
[[nodiscard]] supervision::RecordingMaker followed(supervision::RecordingMaker maker, ProfilePushes* pushes);

}  // namespace heaptap::app
