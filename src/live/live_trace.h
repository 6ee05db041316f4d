// The live ledger of one recorded program: its trace, followed by a thread of its own while it is written. What it shows is what
// a reader of the file would say at that moment. Its memory depends on live blocks and different stacks.
//
// It costs the recording nothing: where the program is faster than the reader, the reader falls behind, and catches up.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "analysis/analyze.h"
#include "base/unique_fd.h"
#include "live/recording.h"
#include "trace/trace_reader.h"

namespace heaptap::live {

class LiveTrace {
 public:
  // `name`: the file's, where it was made.
  static base::Result<std::unique_ptr<LiveTrace>> open(base::UniqueFd file, std::string name);
  ~LiveTrace();
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;

  // Of the trace up to so many bytes, at least: waits until the ledger has come that far.
  base::Result<report::Report> report(const analysis::Query& query, uint64_t bytes);
  // Of what was counted by now.
  base::Result<report::Report> glance(const analysis::Query& query);
  [[nodiscard]] std::vector<model::Mark> marks();
  [[nodiscard]] Freshness freshness();
  // A name under which the file can be opened.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  LiveTrace(base::UniqueFd file, std::string path, trace::TraceReader reader);
  void follow(const std::stop_token& stop);
  // With the lock held: true: there may be more.
  bool take_some();
  base::Result<report::Report> read_anew(const analysis::Query& query) const;

  const base::UniqueFd file_;
  const std::string path_;
  std::mutex mutex_;  // of all below
  std::condition_variable_any changed_;
  trace::TraceReader reader_;
  analysis::Analysis analysis_;
  base::Result<> read_;  // the first failure
  uint64_t wanted_bytes_ = 0;
  std::jthread follower_;  // last: it ends before what it uses
};

}  // namespace heaptap::live
