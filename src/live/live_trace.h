// The live ledger of one recorded program: its trace, followed by a thread of its own while it is written. What it shows is what
// a reader of the file would say at that moment. Its memory depends on live blocks and different stacks.
//
// It costs the recording nothing: where the program is faster than the reader, the reader falls behind, and catches up. The thread has a
// low priority, since on a machine with few processors it would take them from the program and its recorder.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "base/unique_fd.h"
#include "live/recording.h"

namespace heaptap::live {

class LiveTrace {
 public:
  // `name`: the file's, where it was made. `recorder_lives`: until its connection is lost, for file systems without locks. Nothing is
  // read before it is asked for.
  static base::Result<std::unique_ptr<LiveTrace>> open(base::UniqueFd file, std::string name,
                                                       std::shared_ptr<const std::atomic<bool>> recorder_lives);
  ~LiveTrace();
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;

  // Of the trace up to so many bytes, at least: waits until the ledger has come that far.
  base::Result<report::Report> report(const analysis::Query& query, uint64_t bytes);
  // Of what was counted by now.
  base::Result<report::Report> glance(const analysis::Query& query);
  base::Result<std::vector<model::Mark>> marks();
  [[nodiscard]] Freshness freshness();
  // A name under which the file can be opened.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  class Ledger;

  LiveTrace(base::UniqueFd file, std::string path, std::shared_ptr<const std::atomic<bool>> recorder_lives);
  base::Result<Ledger*> ledger();
  base::Result<report::Report> read_anew(const analysis::Query& query) const;
  base::Result<report::Report> with_path(base::Result<report::Report> report) const;

  const base::UniqueFd file_;
  const std::string path_;
  const std::shared_ptr<const std::atomic<bool>> recorder_lives_;
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace heaptap::live
