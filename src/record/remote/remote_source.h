// Source of recordings of processes on another machine, received over a line.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/supervision/recorded_processes.h"
#include "capture/supervision/recording_source.h"
#include "common/line/line_messages.h"
#include "common/line/record_order.h"
#include "common/line/wait_budget.h"
#include "record/remote/file_fetcher.h"
#include "record/remote/incoming_scan.h"
#include "record/remote/line_to_target.h"
#include "record/remote/remote_recording.h"
#include "record/remote/row_finder.h"

namespace heaptap::remote {

class RemoteSource : public supervision::RecordingSource, public supervision::RecorderElsewhere, public TargetControl {
 public:
  using Teller = std::function<void(const line::LineNews&)>;

  RemoteSource(LineToTarget& line, Teller tell);
  // Call first; stores the recordings there.
  void serve(supervision::RecordedProcesses& processes) { processes_ = &processes; }
  // Supplier of unwind rows that the other machine lacks; must outlive this.
  void set_row_finder(RowFinder& rows) { rows_ = &rows; }
  // Threads that make frames of the traces; must outlive the recordings.
  void set_frame_pool(trace::FramePool& pool) { frame_pool_ = &pool; }
  // Factory for the recordings of `processes`, which this must outlive.
  [[nodiscard]] supervision::RecordingMaker maker();

  // Call first: fetches missing files from the other machine with `fetcher`, which must outlive this.
  void fetch_by(FileFetcher& fetcher) { fetcher_ = &fetcher; }
  // After all recorded data has arrived: waits for the files, until they are complete or unavailable, or `goes_on` returns false.
  void await_files(const std::function<bool()>& goes_on);

  // The error is the other machine's.
  base::Result<> begin(const line::RecordOrder& order);

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  [[nodiscard]] bool is_settled() const override { return true; }  // begin() waits for the answer
  [[nodiscard]] bool expects_more() override { return !all_ended_; }
  base::Result<uint32_t> scan(supervision::RecordedProcess& process) override;
  bool has_left(const supervision::RecordedProcess& process) override;
  void detach(supervision::RecordedProcess& process) override;
  void accept_no_more() override;
  [[nodiscard]] bool is_detaching() override;
  bool hand_on(int signal) override;
  base::Result<> ask(message::Number request, message::Fields fields) override;

  // Exit status of the program started there, where known.
  [[nodiscard]] const model::ExitStatus& program_exit() const { return program_exit_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  // The first one to be recorded; 0: none was.
  [[nodiscard]] pid_t first_process() const { return first_process_; }

 private:
  void take(const message::Message& message);
  // longest_break: maximum time without a connection.
  base::Result<> ask(message::Number request, message::Fields fields, std::chrono::seconds longest_break);
  base::Result<> wait_for_answer(uint64_t number, std::chrono::seconds longest_break);
  void take_answer(uint64_t number, base::Result<> answer);
  void begin_recording(const line::RecordingBegun& begun);
  void take_of_stream(const message::Message& message, uint64_t stream);
  void look_for_files(uint64_t stream, bool all);
  void ask_for_files();
  void want_report(const line::ReportWanted& wanted);
  void note_attached(uint64_t pid);
  void warn_of_wait(const line::TracerWaits& waits);
  void want_rows(RowRequest request);
  void want_functions(const message::Fields& fields);
  void send(const FoundRows& found);
  void send(const line::FoundFunctions& found);
  void send_blocks(uint64_t stream, uint64_t question, RemoteRecording& recording);
  base::Result<> take_scan(RemoteRecording& recording, const line::ScanPiece& piece);
  void end_all(const std::string& why);
  void look_after_end(line::TimePoint now);
  void look_after_break(line::TimePoint now);
  [[nodiscard]] RemoteRecording* find(uint64_t stream);

  LineToTarget& line_;
  Teller tell_;
  RowFinder* rows_ = nullptr;
  trace::FramePool* frame_pool_ = nullptr;
  supervision::RecordedProcesses* processes_ = nullptr;
  RemoteRecordings made_;              // by maker()
  std::map<uint64_t, pid_t> streams_;  // active ones
  IncomingScan incoming_scan_;
  FileFetcher* fetcher_ = nullptr;
  std::map<uint64_t, size_t> modules_seen_;  // of active streams
  std::set<pid_t> ended_;
  std::optional<pid_t> maybe_executed_;  // ended by exec: if the next message begins its successor
  uint64_t last_request_ = 0;
  std::map<uint64_t, std::optional<base::Result<>>> asked_;  // pending requests, with the answer once received
  size_t reports_by_console_ = 0;
  pid_t first_process_ = 0;
  size_t recordings_ = 0;                               // started so far
  std::optional<line::TimePoint> down_since_;           // without a connection
  line::TimePoint told_of_break_at_;                    // last
  std::optional<std::chrono::nanoseconds> kept_there_;  // how long the recording is kept for this host
  bool is_beginning_ = false;                           // the order isn't answered yet
  std::vector<line::LineNews> attached_;                // not told yet
  bool has_program_ = false;                            // started there
  int handed_on_ = 0;                                   // last signal forwarded to it
  std::optional<line::TimePoint> handed_on_at_;         // while its end is unknown and unreported
  uint64_t detach_message_ = 0;                         // number of messages up to the detach request
  std::optional<line::TimePoint> detached_since_;       // when the other machine was asked to detach from all
  std::optional<line::WaitBudget> detach_budget_;       // for that request
  bool all_ended_ = false;
  bool has_failed_ = false;
  model::ExitStatus program_exit_;
};

}  // namespace heaptap::remote
