// Recordings of processes on another machine, as they come over the line.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "collect/recorded_processes.h"
#include "collect/recording_source.h"
#include "remote/file_fetcher.h"
#include "remote/incoming_scan.h"
#include "remote/patience.h"
#include "remote/record_order.h"
#include "remote/remote_recording.h"
#include "remote/row_finder.h"
#include "remote/target_line.h"

namespace heaptap::remote {

class RemoteSource : public collect::RecordingSource, public TargetControl {
 public:
  using Teller = std::function<void(const LineNews&)>;

  RemoteSource(TargetLine& line, Teller tell);
  // Before anything else; what is recorded is to be kept there.
  void serve(collect::RecordedProcesses& processes) { processes_ = &processes; }
  // Who answers where the other machine lacks rows for unwinding; outlives this.
  void set_row_finder(RowFinder& rows) { rows_ = &rows; }
  // Of the recordings of `processes`.
  [[nodiscard]] collect::RecordingMaker maker();

  // Before anything else: files that aren't here are to come from there, by this one, which outlives it.
  void fetch_by(FileFetcher& fetcher) { fetcher_ = &fetcher; }
  // When all that was recorded is here: stays until the files are, or can't come, or `goes_on` says no.
  void await_files(const std::function<bool()>& goes_on);

  // The error is the other machine's.
  base::Result<> begin(const RecordOrder& order);

  void add_waits(std::vector<pollfd>& waits) const override;
  void take_news() override;
  [[nodiscard]] bool expects_more() const override { return !all_ended_; }
  base::Result<uint32_t> scan(collect::RecordedProcess& process) override;
  bool has_left(const collect::RecordedProcess& process) override;
  void let_go(collect::RecordedProcess& process) override;
  void accept_no_more() override;
  [[nodiscard]] bool is_letting_go() override;
  bool hand_on(int signal) override;
  base::Result<> ask(control::Kind request, control::Fields fields) override;

  // Of the program that was started there, where it is known.
  [[nodiscard]] const model::ExitStatus& program_exit() const { return program_exit_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }

 private:
  void take(const control::Message& message);
  // longest_break: of the connection.
  base::Result<> ask(control::Kind request, control::Fields fields, std::chrono::seconds longest_break);
  base::Result<> wait_for_answer(uint64_t number, std::chrono::seconds longest_break);
  void take_answer(uint64_t number, base::Result<> answer);
  void begin_recording(const control::Message& message);
  void take_of_stream(const control::Message& message, uint64_t stream);
  void look_for_files(uint64_t stream, bool all);
  void ask_for_files();
  void want_report(const control::Fields& fields);
  void want_rows(const control::Fields& fields);
  void want_functions(const control::Fields& fields);
  void send(const FoundRows& found);
  void send(const FoundFunctions& found);
  void send_blocks(uint64_t stream, uint64_t question, const collect::LiveBlocks& live);
  base::Result<> take_scan(RemoteRecording& recording, uint64_t stream, const control::Fields& fields);
  void end_all(const std::string& why);
  void look_after_end(TimePoint now);
  void look_after_break(TimePoint now);
  [[nodiscard]] RemoteRecording* find(uint64_t stream);

  TargetLine& line_;
  Teller tell_;
  RowFinder* rows_ = nullptr;
  collect::RecordedProcesses* processes_ = nullptr;
  std::map<uint64_t, pid_t> streams_;  // that go on
  IncomingScan incoming_scan_;
  FileFetcher* fetcher_ = nullptr;
  std::map<uint64_t, size_t> modules_seen_;  // of streams that go on
  std::set<pid_t> ended_;
  std::optional<pid_t> maybe_executed_;  // ended by executing another program: if the next message begins that one
  uint64_t last_request_ = 0;
  std::map<uint64_t, std::optional<base::Result<>>> asked_;  // and the answer, once it is there
  size_t reports_by_console_ = 0;
  size_t recordings_ = 0;                               // that ever began
  std::optional<TimePoint> down_since_;                 // no connection
  TimePoint told_of_break_at_;                          // last
  std::optional<std::chrono::nanoseconds> kept_there_;  // so long the recording waits for this host
  bool has_program_ = false;                            // one that was started there
  int handed_on_ = 0;                                   // the signal that it got
  std::optional<TimePoint> handed_on_at_;               // and its end isn't known, nor that told
  uint64_t let_go_at_message_ = 0;                      // messages up to the one that asked for it
  std::optional<TimePoint> let_go_since_;               // the other machine was asked to let go of all
  std::optional<Patience> let_go_patience_;             // likewise
  bool all_ended_ = false;
  bool has_failed_ = false;
  model::ExitStatus program_exit_;
};

}  // namespace heaptap::remote
