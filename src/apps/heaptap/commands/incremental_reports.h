// Writer of reports requested during a recording (capture/supervision/report_requests.h), in a background thread that reads the traces being
// written.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "analysis/query/analyze.h"
#include "apps/heaptap/commands/numbered_files.h"
#include "capture/supervision/report_requests.h"
#include "views/client/stepped_trace.h"
#include "views/exports/memlog.h"

namespace heaptap::app {

class IncrementalReports final : public supervision::ReportWriter {
 public:
  // `format`: of the numbered files. `query`: symbol sources and ignore rules.
  IncrementalReports(const exports::Format& format, query::Query query);
  // Writes pending reports first.
  ~IncrementalReports() override;

  bool is_busy(pid_t process) override;
  void write(supervision::ReportRequest request) override;
  void end(pid_t process, uint32_t image) override;

 private:
  // Program of a process, from its first report on.
  struct Program {
    std::unique_ptr<client::SteppedTrace> trace;
    std::unique_ptr<NumberedFiles> files;
    exports::MemlogChanges in_files;
    exports::MemlogChanges in_outputs;  // of outputs named by the program
  };
  using Key = std::pair<pid_t, uint32_t>;  // pid and image
  struct Task {
    Key of;
    std::unique_ptr<supervision::ReportRequest> request;  // null: the program has ended
  };

  void add(Task task);
  void serve();
  void serve(Task task);
  base::Result<> serve(const Key& key, supervision::ReportRequest& request, supervision::ReportOutcome& outcome);
  base::Result<> count_leaks(const Program& program, const supervision::ReportRequest& request,
                             supervision::ReportOutcome& outcome) const;
  base::Result<> begin(Program& program, supervision::ReportRequest& request) const;
  base::Result<> write_changes(Program& program, supervision::ReportRequest& request) const;
  base::Result<> write_whole(Program& program, const supervision::ReportRequest& request) const;
  void tell(pid_t process, const std::string& why);

  const exports::Format& format_;
  const query::Query query_;
  std::map<Key, Program> programs_;  // owned by the thread
  std::set<std::string> told_;       // likewise

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // the first one is being served
  bool ends_ = false;
  std::thread thread_;  // started by the first request
};

}  // namespace heaptap::app
