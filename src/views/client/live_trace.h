// Live ledger of one recorded program: a background thread reads the trace while it is written. A report equals one of the file at
// that moment. Memory depends on live blocks and distinct stacks.
//
// It costs the recording nothing: if the program is faster than the reader, the reader falls behind and catches up later. The thread has
// low priority, since on a machine with few processors it would compete with the program and its recorder.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/query/analyze.h"
#include "common/base/unique_fd.h"
#include "views/client/recording.h"

namespace heaptap::client {

class LiveTrace {
 public:
  // `name`: the file's name at its creation. `recorder_lives`: false once its connection is lost, for file systems without locks.
  // Nothing is read before the first request.
  static base::Result<std::unique_ptr<LiveTrace>> open(base::UniqueFd file, std::string name,
                                                       std::shared_ptr<const std::atomic<bool>> recorder_lives);
  ~LiveTrace();
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;

  // Report of at least the trace's first `bytes` bytes: waits until the ledger has read them.
  base::Result<report::Report> report(const query::Query& query, uint64_t bytes);
  // Report of what is counted so far, without waiting.
  base::Result<report::Report> glance(const query::Query& query);
  base::Result<std::vector<model::Mark>> marks();
  [[nodiscard]] Freshness freshness();
  // Path by which the file can be opened.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  class Ledger;

  LiveTrace(base::UniqueFd file, std::string path, std::shared_ptr<const std::atomic<bool>> recorder_lives);
  base::Result<Ledger*> ledger();
  base::Result<report::Report> read_again(const query::Query& query) const;
  base::Result<report::Report> with_path(base::Result<report::Report> report) const;

  const base::UniqueFd file_;
  const std::string path_;
  const std::shared_ptr<const std::atomic<bool>> recorder_lives_;
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace heaptap::client
