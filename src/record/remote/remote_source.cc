#include "record/remote/remote_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "capture/process/memory_room.h"
#include "common/base/safe_text.h"
#include "common/base/signal_names.h"
#include "common/base/units.h"
#include "common/control/control_messages.h"
#include "common/frames/capture_frames.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/line/wait_budget.h"
#include "common/message/common_messages.h"
#include "common/model/file_identity.h"
#include "record/recordings/recorded_blocks.h"

namespace heaptap::remote {
namespace {

using line::Kind;
using message::Fields;
using message::Message;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestSilentWait{30};  // for an answer, or a file
constexpr line::PatienceLimits kPatience{.silence = kLongestSilentWait,
                                         .in_all = std::chrono::minutes(10)};  // at least as long as the other end's
constexpr std::chrono::seconds kLongestBreak{3};  // of the connection while an answer is awaited
// Each has a file and memory here: more than these are not a program, but an attack.
constexpr size_t kMaxAtOnce = 1000;
constexpr size_t kMaxInAll = 100'000;
constexpr size_t kMaxNameBytes = 256;
constexpr uint64_t kMaxKeptNs = uint64_t{1} << 60;
constexpr uint64_t kMaxResolutionNs = 1'000'000'000;

// For a terminal: the other machine says it.
base::Error error_in(const Fields& fields) {
  base::Error error = message::decode_refusal(fields);
  error.message = base::safe_text(error.message);
  return error;
}

}  // namespace

RemoteSource::RemoteSource(LineToTarget& line, Teller tell)
    : line_(line),
      tell_(std::move(tell)),
      incoming_scan_([] { return process::free_memory_for(getpid()).free_bytes; }) {}

supervision::RecordingMaker RemoteSource::maker() {
  return
      [this](const log::LogOptions& /*log*/, const model::Capture& capture, const std::string& path, bool overwrite) {
        auto made = RemoteRecording::create(*this, capture, path, overwrite);
        if (!made) return made;
        (*made)->share_frames(frame_pool_);
        (*made)->list_in(made_);
        return made;
      };
}

// Nothing has started yet that a new connection could delay.
base::Result<> RemoteSource::begin(const line::RecordOrder& order) {
  has_program_ = !order.command.empty();
  is_beginning_ = true;
  auto begun = ask(Kind::kRecord, line::encode(order), kLongestSilentWait);
  is_beginning_ = false;
  return begun;
}

void RemoteSource::take_news() {
  line_.proceed(Clock::now());
  const bool was_over = line_.is_over();  // earlier messages have been processed
  for (const line::LineNews& news : line_.take_news()) tell_(news);
  while (const auto message = line_.link().line().next()) take(*message);
  for (const auto& [stream, pid] : streams_) look_for_files(stream, false);
  ask_for_files();
  while (auto found = rows_ != nullptr ? rows_->next_found() : std::nullopt) {
    std::visit([this](const auto& each) { send(each); }, *found);
  }
  const line::TimePoint now = Clock::now();
  if (line_.link().is_up()) {
    down_since_.reset();
  } else if (!down_since_) {
    down_since_ = now;
  }
  if (was_over && !all_ended_) end_all(line_.why_over());
  look_after_end(now);
  if (is_beginning_) return;  // a signal would end this process
  for (const line::LineNews& news : std::exchange(attached_, {})) tell_(news);
}

void RemoteSource::look_after_end(line::TimePoint now) {
  constexpr std::chrono::seconds kLongestObedience{1};
  if (handed_on_at_ && !all_ended_ && !detached_since_ && now - *handed_on_at_ > kLongestObedience) {
    handed_on_at_.reset();
    tell_({line::LineNews::Kind::kSaid,
           base::make_error("the program on {} got SIG{}, and is still running; send it again to detach", line_.name(),
                            base::signal_name(handed_on_))
               .message});
  }
  look_after_break(now);
  // A host that took over a recording doesn't wait for a program that isn't recorded any more.
  const bool has_detached = detached_since_ && !has_program_ && line_.link().line().confirmed() >= detach_message_;
  if (has_detached && streams_.empty()) end_all("");
  // At exit don't wait for an unreachable target: it detaches by itself in the end.
  if (detached_since_ && down_since_ && now - std::max(*detached_since_, *down_since_) > kLongestBreak) {
    end_all(base::make_error("it can't be reached; it will detach after --orphan-timeout").message);
  }
}

// The unreachable target is reported again; and given up when it must have detached, even if the clocks differ.
void RemoteSource::look_after_break(line::TimePoint now) {
  if (!down_since_ || all_ended_ || detached_since_) return;
  const auto down = now - *down_since_;
  const std::string time = base::format_duration(static_cast<uint64_t>(std::chrono::nanoseconds(down).count()));
  if (kept_there_ && down > 2 * *kept_there_ + base::intervals().silence) {
    return end_all(
        base::make_error("it couldn't be reached for {}; it has detached by now (--orphan-timeout)", time).message);
  }
  if (now - std::max(told_of_break_at_, *down_since_) < base::intervals().remind) return;
  told_of_break_at_ = now;
  tell_({line::LineNews::Kind::kSaid,
         base::make_error("{} has been unreachable for {} ({}); still trying, Ctrl-C ends the recording here",
                          line_.name(), time, line_.link().why_down())
             .message});
}

base::Result<> RemoteSource::ask(message::Number request, Fields fields) {
  return ask(request, std::move(fields), kLongestBreak);
}

// What is waited for comes among all the rest, which is taken as it comes.
base::Result<> RemoteSource::ask(message::Number request, Fields fields, std::chrono::seconds longest_break) {
  const uint64_t number = ++last_request_;
  asked_.emplace(number, std::nullopt);
  line_.link().line().send({.kind = request, .number = number, .fields = std::move(fields)});
  base::Result<> answer = wait_for_answer(number, longest_break);
  asked_.erase(number);
  return answer;
}

base::Result<> RemoteSource::wait_for_answer(uint64_t number, std::chrono::seconds longest_break) {
  line::WaitBudget wait_budget(kPatience, line_.link().line(), Clock::now());
  const std::optional<base::Result<>>& answer = asked_.at(number);
  while (!answer) {
    if (all_ended_) return base::fail("the recording on {} has ended", line_.name());
    if (wait_budget.is_interrupted()) return base::fail("interrupted while waiting for {}", line_.name());
    const bool is_cut_off = down_since_ && Clock::now() - *down_since_ > longest_break;
    if (wait_budget.is_over(Clock::now()) || line_.is_over() || is_cut_off) {
      return base::fail("{} doesn't answer; the request is carried out when the connection is back", line_.name());
    }
    std::vector<pollfd> waits;
    line_.add_waits(waits);
    poll(waits.data(), waits.size(), line::kPauseMs);
    take_news();
  }
  return *answer;
}

// A late or unwanted answer is ignored.
void RemoteSource::take_answer(uint64_t number, base::Result<> answer) {
  if (const auto asked = asked_.find(number); asked != asked_.end()) asked->second = std::move(answer);
}

RemoteRecording* RemoteSource::find(uint64_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  const supervision::RecordedProcess* const process = processes_->find(found->second);
  return process == nullptr ? nullptr : &made_.at(*process->recording);
}

// Modules that became known.
void RemoteSource::look_for_files(uint64_t stream, bool all) {
  RemoteRecording* const recording = fetcher_ == nullptr ? nullptr : find(stream);
  if (recording == nullptr) return;
  const std::vector<model::Module>& modules = recording->modules(all);
  size_t& seen = modules_seen_[stream];
  if (seen == modules.size()) return;
  fetcher_->add(stream, seen, std::span(modules).subspan(seen));
  seen = modules.size();
}

void RemoteSource::ask_for_files() {
  if (fetcher_ == nullptr) return;
  bool has_sent = false;
  while (auto message = fetcher_->next_message()) {
    line_.link().line().send(*message);
    has_sent = true;
  }
  if (has_sent) line_.proceed(Clock::now());
}

void RemoteSource::await_files(const std::function<bool()>& goes_on) {
  if (fetcher_ == nullptr) return;
  line::TimePoint heard_at = Clock::now();
  uint64_t heard_bytes = 0;
  size_t files_left = 0;
  while (!fetcher_->is_done()) {
    if (std::exchange(heard_bytes, fetcher_->received_bytes()) != fetcher_->received_bytes() ||
        std::exchange(files_left, fetcher_->files_left()) != fetcher_->files_left()) {
      heard_at = Clock::now();
    }
    if (line_.is_over()) {
      fetcher_->give_up(line_.why_over());
    } else if (Clock::now() - heard_at > kLongestSilentWait) {
      fetcher_->give_up(base::make_error("{} doesn't send it", line_.name()).message);
    } else if (!goes_on()) {
      fetcher_->give_up(base::make_error("canceled").message);
    } else {
      std::vector<pollfd> waits;
      line_.add_waits(waits);
      poll(waits.data(), waits.size(), line::kPauseMs);
      take_news();
    }
  }
}

void RemoteSource::take(const Message& message) {
  // Handled apart from the other kinds.
  if (message.kind == Kind::kFilePiece) {
    if (fetcher_ != nullptr) fetcher_->take(message.fields);
    return;
  }
  if (all_ended_) return;
  const std::optional<pid_t> executed = std::exchange(maybe_executed_, std::nullopt);
  if (executed) {
    if (message.kind == Kind::kRecording)
      processes_->end_by_exec(*executed);
    else
      ended_.insert(*executed);
  }
  if (message.kind == message::CommonKind::kAnswer) return take_answer(message.number, {});
  if (message.kind == message::CommonKind::kRefusal) {
    return take_answer(message.number, std::unexpected(error_in(message.fields)));
  }
  const uint64_t stream = line::stream_in(message.fields);
  switch (message.kind.as<Kind>()) {
    case Kind::kRecording:
      return begin_recording(line::decode_recording_begun(message.fields));
    case Kind::kRowsWanted:
      return want_rows(line::decode_row_request(message.fields));
    case Kind::kFunctionsWanted:
      return want_functions(message.fields);
    case Kind::kAttached:
      return note_attached(line::decode_attached(message.fields).pid);
    case Kind::kNotRecorded:
      has_failed_ = true;
      return tell_(
          {line::LineNews::Kind::kNotRecorded, base::safe_text(line::decode_not_recorded(message.fields).why)});
    case Kind::kTracerWaits:
      return warn_of_wait(line::decode_tracer_waits(message.fields));
    case Kind::kAllEnded:
      program_exit_ = line::decode_all_ended(message.fields).exit;
      return end_all("");
    case Kind::kFiguresNow:
      if (const auto wanted = line::decode_report_wanted(message.fields)) return want_report(*wanted);
      return take_of_stream(message, stream);
    default:
      return take_of_stream(message, stream);
  }
}

void RemoteSource::note_attached(uint64_t pid) {
  const supervision::RecordedProcess* const process =
      pid > INT_MAX ? nullptr : processes_->find(static_cast<pid_t>(pid));
  if (process == nullptr || line_.is_file()) return;
  const std::vector<std::string>& command = process->recording->capture().command;
  attached_.push_back({.kind = line::LineNews::Kind::kAttached,
                       .text = command.empty() ? "" : base::safe_text(command.front()),
                       .process = pid});
}

// A finished recording's tracer waits no longer.
void RemoteSource::warn_of_wait(const line::TracerWaits& waits) {
  using NewsKind = line::LineNews::Kind;
  if (line_.is_file()) return;
  tell_({.kind = waits.looks ? NewsKind::kTracerLooks : NewsKind::kTracerWaits,
         .text = base::safe_text(waits.place),
         .process = waits.pid});
}

// A signal to the process asks for it; where this side didn't say which, it asks for nothing. Or somebody at the target's console.
void RemoteSource::want_report(const line::ReportWanted& wanted) {
  constexpr size_t kMaxReportsByConsole = 1000;
  if (!wanted.pid || *wanted.pid > INT_MAX) return;
  if (wanted.reason == line::kReportByConsole) {
    if (++reports_by_console_ > kMaxReportsByConsole) return;
  } else if (processes_->options().log.report_signal == 0) {
    return;
  }
  supervision::RecordedProcess* const process = processes_->find(static_cast<pid_t>(*wanted.pid));
  if (process != nullptr) process->is_report_wanted = true;
}

void RemoteSource::begin_recording(const line::RecordingBegun& begun) {
  wire::VarintReader in(line::bytes_of(begun.capture).data(), begun.capture.size());
  model::Capture capture;
  // A peer that sends one of these is lying.
  if (!frames::read_capture(in, capture) || capture.pid == 0 || capture.pid > INT_MAX) return;
  if (capture.time_resolution_ns == 0 || capture.time_resolution_ns > kMaxResolutionNs) return;
  const auto pid = static_cast<pid_t>(capture.pid);
  if (processes_->find(pid) != nullptr || streams_.contains(begun.stream)) return;
  if (processes_->all().size() >= kMaxAtOnce || recordings_ >= kMaxInAll) {
    has_failed_ = true;
    return;
  }
  if (recordings_++ == 0) first_process_ = pid;
  if (begun.kept_ns > 0 && begun.kept_ns < kMaxKeptNs) kept_there_ = std::chrono::nanoseconds(begun.kept_ns);
  capture.suppressions = processes_->options().suppressions;
  ended_.erase(pid);
  if (processes_->begin(capture, false) != nullptr) {
    streams_.emplace(begun.stream, pid);
  }
}

void RemoteSource::take_of_stream(const Message& message, uint64_t stream) {
  RemoteRecording* const recording = find(stream);
  if (recording == nullptr) return;
  const pid_t pid = streams_.at(stream);
  const Fields& fields = message.fields;
  switch (message.kind.as<Kind>()) {
    case Kind::kBytes:
      return recording->receive(line::decode_stream_bytes(fields).bytes);
    case Kind::kCodeNames:
      return recording->receive_names(line::decode_code_names(fields).names);
    case Kind::kResident:
      return recording->receive_resident(line::decode_resident_samples(fields).samples);
    case Kind::kMarked: {
      line::Marked mark = line::decode_marked(fields);
      if (mark.kind > static_cast<uint64_t>(model::MarkKind::kReset) || mark.name.size() > kMaxNameBytes) return;
      return recording->receive_mark({.number = 0,
                                      .kind = static_cast<model::MarkKind>(mark.kind),
                                      .name = std::move(mark.name),
                                      .time_ns = mark.time_ns});
    }
    case Kind::kFiguresNow:
      return recording->receive_figures(line::decode_stream_figures(fields));
    case Kind::kBlocksWanted:
      // A client with an unread result gets no further one.
      if (!line_.link().line().has_room()) return;
      return send_blocks(stream, line::decode_blocks_wanted(fields).question, *recording);
    case Kind::kScanned:
      if (const auto taken = take_scan(*recording, line::decode_scan_piece(fields)); !taken) {
        recording->refuse_scan(taken.error());
      }
      return;
    case Kind::kEnded: {
      look_for_files(stream, true);
      modules_seen_.erase(stream);
      const line::RecordingEnded ended = line::decode_recording_ended(fields);
      recording->receive_end(ended.capture, ended.notes_before);
      streams_.erase(stream);
      if (recording->capture().executed) {
        maybe_executed_ = pid;
      } else {
        ended_.insert(pid);
      }
      return;
    }
    case Kind::kDropped:
      streams_.erase(stream);
      return processes_->drop(pid);
    default:
      return;  // a later version's
  }
}

base::Result<> RemoteSource::take_scan(RemoteRecording& recording, const line::ScanPiece& piece) {
  const auto found = incoming_scan_.take(piece.stream, line::bytes_of(piece.bytes), piece.end.has_value());
  if (!found) return std::unexpected(found.error());
  return *found ? recording.receive_scan(**found, *piece.end) : base::Result<>();
}

void RemoteSource::add_waits(std::vector<pollfd>& waits) const {
  line_.add_waits(waits);
  if (rows_ != nullptr) waits.push_back({rows_->descriptor(), POLLIN, 0});
}

void RemoteSource::want_rows(RowRequest request) {
  const bool is_sound = model::is_build_id(request.build_id) && model::is_path_or_empty(request.path);
  if (rows_ != nullptr && is_sound) return rows_->find(std::move(request));
  send(FoundRows{.build_id = std::move(request.build_id), .rows = {}});
}

// Invalid messages need no answer: the peer is lying.
void RemoteSource::want_functions(const Fields& fields) {
  auto request = line::decode_function_request(fields);
  if (!request) return;
  if (rows_ != nullptr) return rows_->find(*std::move(request));
  send(line::FoundFunctions{.build_id = std::move(request->build_id), .functions = {}});
}

void RemoteSource::send(const line::FoundFunctions& found) { line_.link().line().send(line::message_of(found)); }

void RemoteSource::send(const FoundRows& found) {
  constexpr size_t kPieceBytes = size_t{128} << 10;
  const std::vector<uint8_t> bytes = found.rows.empty() ? std::vector<uint8_t>() : model::encode(found.rows);
  bool more = true;
  for (size_t at = 0; more; at += kPieceBytes) {
    const auto piece = std::span(bytes).subspan(at, std::min(kPieceBytes, bytes.size() - at));
    more = at + piece.size() < bytes.size();
    line_.link().line().send(
        line::message_of(line::RowsPiece{.build_id = found.build_id, .rows = line::text_of(piece), .more = more}));
  }
}

// Blocks last: the last message has blocks.
void RemoteSource::send_blocks(uint64_t stream, uint64_t question, RemoteRecording& recording) {
  constexpr size_t kMaxBlocks = 20'000;  // of 20 bytes each, at most
  using Content = line::BlocksPiece::Content;
  const auto send = [&](Content content, std::span<const uint8_t> bytes, bool more) {
    line_.link().line().send(line::message_of(line::BlocksPiece{
        .stream = stream, .question = question, .content = content, .bytes = line::text_of(bytes), .more = more}));
  };
  const auto send_all = [&](Content content, std::span<const model::ScannedBlock> blocks, bool is_last) {
    bool more = true;
    while (more) {
      const auto piece = blocks.first(std::min(kMaxBlocks, blocks.size()));
      blocks = blocks.subspan(piece.size());
      more = !blocks.empty();
      send(content, stream::write_scanned_blocks(piece), more || !is_last);
    }
  };
  const stream::LiveBlocks live = recording.live_blocks();
  send(Content::kUnsettled, stream::write_unsettled(live.unsettled()), true);
  if (recording.needs_released()) {
    const std::vector<base::AddressRange> released = recordings::released_to_tell(live);
    for (std::span<const base::AddressRange> rest = released; !rest.empty();) {
      const auto piece = rest.first(std::min(kMaxBlocks, rest.size()));
      rest = rest.subspan(piece.size());
      stream::Unsettled unsettled;
      for (const base::AddressRange& range : piece) unsettled.released.push_back({0, range.begin, range.size()});
      send(Content::kUnsettled, stream::write_unsettled(unsettled), true);
    }
  }
  if (const auto pooled = live.pooled_to_tell(); !pooled.empty()) send_all(Content::kPooled, pooled, false);
  send_all(Content::kBlocks, live.alive(), true);
}

// No further message will come.
void RemoteSource::end_all(const std::string& why) {
  if (std::exchange(all_ended_, true)) return;
  if (maybe_executed_) ended_.insert(*maybe_executed_);
  if (!why.empty()) {
    has_failed_ = true;
    tell_({line::LineNews::Kind::kOver, why});
  }
  for (const auto& [stream, pid] : streams_) ended_.insert(pid);
  streams_.clear();
}

base::Result<uint32_t> RemoteSource::scan(supervision::RecordedProcess& process) {
  return made_.at(*process.recording).scan();
}

bool RemoteSource::has_left(const supervision::RecordedProcess& process) { return ended_.contains(process.pid); }

void RemoteSource::detach(supervision::RecordedProcess& process) {
  const control::ProcessRequest request{.pid = static_cast<uint64_t>(process.pid)};
  line_.link().line().send({.kind = control::Kind::kDetach, .number = 0, .fields = control::encode(request)});
}

// In order after all other requests; if the target can't be reached now, don't wait for it.
bool RemoteSource::hand_on(int signal) {
  if (!has_program_ || all_ended_ || !line_.link().is_up()) return false;
  handed_on_ = signal;
  handed_on_at_ = Clock::now();
  const control::KillRequest request{.pid = 0, .signal = base::signal_name(signal)};
  line_.link().line().send({.kind = control::Kind::kKill, .number = 0, .fields = control::encode(request)});
  return true;
}

void RemoteSource::accept_no_more() {
  detached_since_ = Clock::now();
  detach_budget_.emplace(kPatience, line_.link().line(), *detached_since_);
  line_.link().line().send(line::message_of(Kind::kDetach));
  detach_message_ = line_.link().line().sent();
  if (has_program_) {
    tell_({line::LineNews::Kind::kSaid,
           base::make_error("detached from the program on {}, which keeps running", line_.name()).message});
  }
}

// On a slow line much data precedes the end.
bool RemoteSource::is_detaching() {
  return detach_budget_ && !detach_budget_->is_over(Clock::now()) && !detach_budget_->is_interrupted();
}

}  // namespace heaptap::remote
