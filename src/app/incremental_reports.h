// Writer of reports requested during a recording (collect/report_requests.h), in a background thread that reads the traces being
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

#include "analysis/analyze.h"
#include "app/numbered_files.h"
#include "collect/report_requests.h"
#include "exports/memlog.h"
#include "live/stepped_trace.h"

namespace heaptap::app {

class IncrementalReports final : public collect::ReportWriter {
 public:
  // `format`: of the numbered files. `query`: symbol sources and ignore rules.
  IncrementalReports(const exports::Format& format, analysis::Query query);
  // Writes pending reports first.
  ~IncrementalReports() override;

  bool is_busy(pid_t process) override;
  void write(collect::ReportRequest request) override;
  void end(pid_t process, uint32_t image) override;

 private:
  // Program of a process, from its first report on.
  struct Program {
    std::unique_ptr<live::SteppedTrace> trace;
    std::unique_ptr<NumberedFiles> files;
    exports::MemlogChanges in_files;
    exports::MemlogChanges in_outputs;  // of outputs named by the program
  };
  using Key = std::pair<pid_t, uint32_t>;  // pid and image
  struct Task {
    Key of;
    std::unique_ptr<collect::ReportRequest> request;  // null: the program has ended
  };

  void add(Task task);
  void serve();
  void serve(Task task);
  base::Result<> serve(const Key& key, collect::ReportRequest& request, collect::ReportOutcome& outcome);
  base::Result<> count_leaks(const Program& program, const collect::ReportRequest& request,
                             collect::ReportOutcome& outcome) const;
  base::Result<> begin(Program& program, collect::ReportRequest& request) const;
  base::Result<> write_changes(Program& program, collect::ReportRequest& request) const;
  base::Result<> write_whole(Program& program, const collect::ReportRequest& request) const;
  void tell(pid_t process, const std::string& why);

  const exports::Format& format_;
  const analysis::Query query_;
  std::map<Key, Program> programs_;  // owned by the thread
  std::set<std::string> told_;       // likewise

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // the first one is being served
  bool ends_ = false;
  std::thread thread_;  // started by the first request
};

}  // namespace heaptap::app
