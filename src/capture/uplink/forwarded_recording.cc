#include "capture/uplink/forwarded_recording.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "capture/stream/drain_rounds.h"
#include "capture/stream/scan_bytes.h"
#include "capture/supervision/exit_start.h"
#include "common/base/clock.h"
#include "common/frames/capture_frames.h"
#include "common/frames/code_name_frames.h"
#include "common/frames/crash_frames.h"
#include "common/frames/region_frames.h"
#include "common/frames/resident_frames.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/model/mapped_memory.h"
#include "common/model/note_code.h"

namespace heaptap::uplink {
namespace {

constexpr size_t kPieceBytes = size_t{128} << 10;
constexpr uint64_t kMaxBytesTaken = 1024 * 1024;  // bytes of records per drain
constexpr uint64_t kTellEveryNs = 1'000'000'000;

std::string start_of(const model::Capture& capture) {
  frames::ByteBuffer bytes;
  frames::write_capture_start(bytes, capture);
  return line::text_of(bytes);
}

std::string end_of(const model::Capture& capture) {
  frames::ByteBuffer bytes;
  frames::write_capture_end(bytes, capture);
  return line::text_of(bytes);
}

void note_mapping(const wire::RawEvent& event, stream::MappedRanges& mapped) {
  if (event.kind() == wire::RecordKind::kMap) mapped.add(event.address(), wire::mapped_length(event.size_bytes));
  if (event.kind() == wire::RecordKind::kUnmap) mapped.remove(event.address(), event.size_bytes);
}

}  // namespace

base::Result<std::unique_ptr<ForwardedRecording>> ForwardedRecording::create(Uplink& uplink, uint64_t stream,
                                                                             const log::LogOptions& options,
                                                                             model::Capture capture,
                                                                             const ForwardingOptions& forwarding) {
  auto log = stream::LogEndpoint::create(options, capture);
  if (!log) return std::unexpected(std::move(log).error());
  capture.time_resolution_ns = supervision::kTimeResolutionNs;
  capture.start_unix_ns = base::clock_ns(CLOCK_REALTIME);
  return std::unique_ptr<ForwardedRecording>(
      new ForwardedRecording(uplink, stream, *std::move(log), std::move(capture), forwarding));
}

ForwardedRecording::ForwardedRecording(Uplink& uplink, uint64_t number, std::unique_ptr<stream::LogEndpoint> log,
                                       model::Capture capture, const ForwardingOptions& forwarding)
    : uplink_(uplink),
      number_(number),
      forwarding_(forwarding),
      cpus_(std::thread::hardware_concurrency()),
      log_(std::move(log)),
      capture_(std::move(capture)),
      writer_(std::in_place, log_->stream().tables(), stream::RawStreamOptions{.table_bits = forwarding.table_bits}),
      jit_names_(std::in_place, static_cast<pid_t>(capture_.pid), names_options()) {
  constexpr uint64_t kMaxKeptBytes = uint64_t{256} << 10;  // the target has little memory; the log is its buffer
  log_->stream().reader().set_max_kept(kMaxKeptBytes);
  if (forwarding_.host != nullptr) rows_.emplace(*forwarding_.host, log_->log().parts());
  tell_beginning();
}

void ForwardedRecording::tell_beginning() {
  const std::string capture = start_of(capture_);
  uplink_.send(line::message_of(line::RecordingBegun{
      .stream = number_, .capture = capture, .kept_ns = static_cast<uint64_t>(forwarding_.orphan_timeout.count())}));
}

void ForwardedRecording::offer_files(size_t first, std::span<const model::Module> modules) {
  if (forwarding_.host == nullptr) return;
  forwarding_.host->offer_files(number_, first, static_cast<pid_t>(capture_.pid), modules);
}

// Starts a stream for another host, as after an attach: that host knows nothing of the earlier part.
void ForwardedRecording::restart() {
  capture_.from_start = false;
  stream::add_note(
      capture_,
      model::failure_note(
          base::make_error("another host recorded it before: earlier events are in that host's trace").message));
  event_count_ = 0;
  scanned_.clear();  // numbered for the previous host
  writer_.emplace(log_->stream().tables(), stream::RawStreamOptions{.table_bits = forwarding_.table_bits});
  jit_names_.emplace(static_cast<pid_t>(capture_.pid), names_options());
  code_count_ = 0;
  tell_beginning();
  offer_files(0, told_modules_);
  writer_->add_modules(told_modules_);
  writer_->add_threads(told_threads_);
  send_bytes();
}

ForwardedRecording::~ForwardedRecording() {
  if (!is_finished_) uplink_.send(line::message_of(line::RecordingDropped{.stream = number_}));
}

void ForwardedRecording::send_bytes() {
  const std::vector<uint8_t> bytes = writer_->take();
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const auto piece = std::span(bytes).subspan(at, std::min(kPieceBytes, bytes.size() - at));
    uplink_.send(line::message_of(line::StreamBytes{.stream = number_, .bytes = line::text_of(piece)}));
  }
}

// One drain of the log, with the tables that its events need. Returns the number of bytes of its records.
uint64_t ForwardedRecording::forward(bool last) {
  stream::MappedStream& stream = log_->stream();
  events_.clear();
  const uint64_t bytes = stream.drain(events_, last);
  modules_.clear();
  stream.take_modules(modules_);
  threads_.clear();
  stream.take_threads(threads_);
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  // Progress report once a second while nothing happens.
  const bool has_news = !events_.empty() || !modules_.empty() || !threads_.empty() || bytes > 0 || !scanned_.empty();
  if (!has_news && !last && now - told_ns_ < kTellEveryNs) return 0;
  event_count_ += events_.size();
  for (const wire::RawEvent& event : events_) {
    note_mapping(event, mapped_);
    if (event.kind() == wire::RecordKind::kNote)
      was_off_ |= wire::note_kind(event.tagged_address) == wire::NoteKind::kSwitchedOff;
  }
  offer_files(module_count_, modules_);
  module_count_ += modules_.size();
  told_modules_.insert(told_modules_.end(), modules_.begin(), modules_.end());
  told_threads_.insert(told_threads_.end(), threads_.begin(), threads_.end());
  if (rows_) rows_->add_modules(modules_);
  const bool packs = line::compresses(forwarding_.compression, cpus_, uplink_.waiting_bytes());
  writer_->pack_with(packs ? forwarding_.packer : nullptr);
  writer_->add_modules(modules_);
  writer_->add_threads(threads_);
  writer_->add_drain(events_, bytes, stream.state(), [&stream](uint32_t number) { return stream.take_text(number); });
  note_what_is_alive();
  send_bytes();
  seek_names();
  if (!stream.reader().has_looked_ahead()) send_scan();
  if (now - told_ns_ >= kTellEveryNs) {
    told_ns_ = now;
    tell_figures();
  }
  return bytes;
}

// The host sees the same rounded times, so both sides end up with the same live blocks.
void ForwardedRecording::note_what_is_alive() {
  if (!live_ && !behind_question_) return;
  for (wire::RawEvent& event : events_) event.time = writer_->received_time(event.time);
  if (live_) live_->apply(events_);
  if (behind_question_) behind_question_->insert(behind_question_->end(), events_.begin(), events_.end());
}

// Restricted, as any host may connect: only files of the process's own user are read for names, none if files must not
// leave the machine.
supervision::JitNamesOptions ForwardedRecording::names_options() const {
  // The target has little memory; remaining names come later.
  constexpr supervision::SoughtCodeLimits kLimits{.codes = size_t{1} << 15, .name_bytes = size_t{1} << 19};
  supervision::JitNamesOptions options{.limits = kLimits};
  if (!forwarding_.gives_files) {
    options.forbidden = base::make_error("heaptap-target was started with --no-fetch").message;
  }
  return options;
}

void ForwardedRecording::seek_names() {
  for (const model::Code& code : writer_->take_written_codes()) jit_names_->seek(code_count_++, code, told_modules_);
}

void ForwardedRecording::send_names() {
  const std::vector<model::CodeName> names = jit_names_->take();
  constexpr size_t kMaxNames = 100;  // each at most 1,024 bytes
  for (std::span<const model::CodeName> rest = names; !rest.empty();) {
    const auto piece = rest.first(std::min(kMaxNames, rest.size()));
    rest = rest.subspan(piece.size());
    frames::ByteBuffer bytes;
    frames::write_code_names(bytes, piece);
    const std::string text = line::text_of(bytes);
    uplink_.send(line::message_of(line::CodeNames{.stream = number_, .names = text}));
  }
}

// For a process that has ended or was detached: reads for at most this long. True: the host has received all names.
bool ForwardedRecording::has_told_names(std::chrono::nanoseconds most) {
  const bool is_done = jit_names_->read_to_end(most);
  send_names();
  return is_done;
}

// Without a host for a long time every second one is enough.
void ForwardedRecording::add_resident(const std::optional<model::ResidentSample>& sample) {
  constexpr size_t kMaxKept = 1024;
  if (!sample) return;
  if (resident_.size() == kMaxKept) {
    for (size_t i = 0; i < kMaxKept / 2; ++i) resident_[i] = resident_[2 * i + 1];
    resident_.resize(kMaxKept / 2);
  }
  resident_.push_back(*sample);
}

void ForwardedRecording::send_resident() {
  if (resident_.empty()) return;
  frames::ByteBuffer bytes;
  frames::write_resident(bytes, resident_);
  resident_.clear();
  const std::string text = line::text_of(bytes);
  uplink_.send(line::message_of(line::ResidentSamples{.stream = number_, .samples = text}));
}

uint64_t ForwardedRecording::poll() {
  if (rows_) rows_->serve();
  add_resident(log_->sample_resident_when_due());
  uint64_t bytes = 0;
  while (uplink_.has_room() && bytes < kMaxBytesTaken) {
    const uint64_t taken = forward(false);
    bytes += taken;
    if (taken == 0 || !log_->stream().state().has_unread) break;
  }
  jit_names_->proceed();
  // Names have a lower priority than events.
  constexpr size_t kNearlyNothing = size_t{64} << 10;
  if (jit_names_->has_found() && uplink_.waiting_bytes() <= kNearlyNothing) send_names();
  return bytes;
}

void ForwardedRecording::take_what_is_there() {
  stream::take_what_is_there(log_->stream(), [this] { return forward(false); }, [this] { return uplink_.has_room(); });
}

// Requests the live blocks from the host. The program continues meanwhile, as far as the line and the log have room.
// Events taken from the log after the request are kept here, in limited number, until the answer has come.
base::Result<> ForwardedRecording::ask_what_is_alive(std::optional<ExitWait> exit_wait) {
  constexpr size_t kMaxBehind = (size_t{512} << 10) / sizeof(wire::RawEvent);
  behind_question_.emplace();
  const auto goes_on = [this] { return uplink_.has_room() && behind_question_->size() < kMaxBehind; };
  auto live = uplink_.live_blocks(number_, event_count_, exit_wait, [&] {
    if (rows_) rows_->serve();
    stream::take_what_is_there(log_->stream(), [this] { return forward(false); }, goes_on);
  });
  const std::deque<wire::RawEvent> behind = *std::exchange(behind_question_, std::nullopt);
  if (!live) return std::unexpected(std::move(live).error());
  live_ = *std::move(live);
  for (const wire::RawEvent& event : behind) live_->apply(event);
  return {};
}

namespace {

// In the message of the scan's end.
std::string regions_text(const supervision::ScanFacts& facts) {
  constexpr size_t kMaxBytes = size_t{512} << 10;
  if (!facts.resident) return {};
  frames::ByteBuffer bytes;
  frames::write_regions(bytes, *facts.resident);
  if (bytes.size() > kMaxBytes) return {};
  return line::text_of(bytes);
}

std::string crash_text(const supervision::ScanFacts& facts) {
  if (!facts.crash) return {};
  frames::ByteBuffer bytes;
  frames::write_crash(bytes, *facts.crash);
  return line::text_of(bytes);
}

}  // namespace

std::optional<ExitWait> ForwardedRecording::wait_at(const std::optional<wire::ExitNotice>& ending) const {
  constexpr std::chrono::milliseconds kLongestAtStart{500};
  if (!ending) return std::nullopt;
  if (!supervision::is_exit_start(ending)) return ExitWait{.longest = forwarding_.exit_wait};
  return ExitWait{.longest = std::min<std::chrono::nanoseconds>(forwarding_.exit_wait, kLongestAtStart),
                  .is_optional = true};
}

// Leak scan. The host knows the live blocks as of the events sent to it; later events from the log are added here. So
// the pause doesn't depend on the distance to the host.
base::Result<> ForwardedRecording::look_at_memory(const supervision::ScanAccess& access,
                                                  const std::optional<wire::ExitNotice>& ending) {
  const bool starts = supervision::is_exit_start(ending);
  HEAPTAP_TRY(ask_what_is_alive(wait_at(ending)));
  take_what_is_there();  // keeps the pause short
  const bool saw_all = log_->lost_events() == 0 && log_->stream().state().gaps == 0;
  const bool knows_rest = saw_all && !was_off_;  // besides what was before the recording
  const supervision::ScanTarget target{.access = access,
                                       .ending = ending,
                                       .log = log_->log().parts(),
                                       .heap_is_complete = capture_.from_start && knows_rest,
                                       .tells_other_numbers = log_->stream().tells_other_numbers(),
                                       .limits = {.candidate_bytes = SIZE_MAX}};
  auto look = supervision::ProcessScan::stop(target);
  if (!look) return std::unexpected(std::move(look).error());
  stream::MappedRanges mapped = mapped_;
  look_ahead(mapped);
  const uint64_t time_ns = log_->stream().now_ns();
  std::vector<model::ScannedBlock> blocks = live_->alive();
  if (starts && blocks.size() > supervision::kMaxBlocksAtExitStart)
    return base::fail("no leak scan: the heap is large");
  std::vector<model::ScannedBlock> pooled = live_->pooled();
  std::vector<base::AddressRange> released;
  if (!capture_.from_start && knows_rest) released = live_->released();
  live_.reset();  // frees memory for the scan
  const uint32_t checksum = stream::fingerprint(blocks, pooled);
  const model::Tables tables;
  look->collect({.saw_all_releases = saw_all,
                 .blocks = std::move(blocks),
                 .pooled = std::move(pooled),
                 .released = std::move(released),
                 .mapped = mapped,
                 .tables = tables});
  HEAPTAP_TRY(look->release());
  stream::ScanAnswer answer = look->hand_over();
  const supervision::ScanFacts& facts = look->facts();
  const line::ScanEnd end{.stopped_ns = facts.stopped_ns,
                          .read_bytes = facts.read_bytes,
                          .skipped_bytes = facts.skipped_bytes,
                          .threads = facts.threads,
                          .notes = facts.notes,
                          .checksum = checksum,
                          .time_ns = time_ns,
                          .reason = supervision::reason_of(ending),
                          .regions = regions_text(facts),
                          .crash = crash_text(facts)};
  last_pause_ns_ = facts.stopped_ns;
  if (!scanned_.empty() && !is_scanned_optional_)
    note(
        model::failure_note(base::make_error("no leak scan: the connection was too slow until the next scan").message));
  scanned_.clear();
  is_scanned_optional_ = starts;
  stream::write_scan_answer(
      answer, [&](std::span<const uint8_t> bytes, bool is_last) { keep_answer(bytes, is_last ? &end : nullptr); });
  return {};
}

// Looks ahead only: events in the log at the stop stay there. As messages they would take memory here until the line
// has sent them.
void ForwardedRecording::look_ahead(stream::MappedRanges& mapped) {
  log_->stream().reader().look_ahead([&](const log::RawEvents& events) {
    for (wire::RawEvent event : events) {
      note_mapping(event, mapped);
      event.time = writer_->received_time(event.time);
      live_->apply(event);
    }
  });
}

// Queues a part of a scan's answer; `end` follows the last part.
void ForwardedRecording::keep_answer(std::span<const uint8_t> bytes, const line::ScanEnd* end) {
  bool more = true;
  while (more) {
    const auto piece = bytes.first(std::min(kPieceBytes, bytes.size()));
    bytes = bytes.subspan(piece.size());
    more = !bytes.empty();
    const bool is_end = !more && end != nullptr;
    scanned_.push_back(line::message_of(line::ScanPiece{
        .stream = number_, .bytes = line::text_of(piece), .end = is_end ? std::optional(*end) : std::nullopt}));
  }
}

void ForwardedRecording::send_scan() {
  for (const message::Message& piece : std::exchange(scanned_, {})) uplink_.send(piece);
}

base::Result<> ForwardedRecording::no_memory() {
  return base::fail(
      "no leak scan: heaptap-target was started with --no-scan-data, and sends nothing of a process's memory");
}

base::Result<uint32_t> ForwardedRecording::scan(const supervision::ScanAccess& access,
                                                const std::optional<wire::ExitNotice>& ending) {
  const bool starts = supervision::is_exit_start(ending);
  if (ending && !starts) seen_.end = ending;
  const auto resident = log_->sample_resident();
  add_resident(resident);
  if (starts &&
      (!scanned_.empty() || !supervision::is_worth_a_scan({.resident = resident, .last_pause_ns = last_pause_ns_}))) {
    return 0;
  }
  jit_names_->find_files();  // while the process lives: it tells where they are
  const base::Result<> done = forwarding_.gives_memory ? look_at_memory(access, ending) : no_memory();
  live_.reset();
  if (!done) {
    if (ending && !starts) capture_.notes.push_back(model::failure_note(done.error().message));
    return std::unexpected(done.error());
  }
  return starts ? 0 : ++seen_.scans;
}

// Takes everything from the log, with or without room on the line.
void ForwardedRecording::take_all() {
  stream::take_to_the_end(log_->stream(), [this] { return forward(true); });
}

base::Result<model::Mark> ForwardedRecording::mark(model::MarkKind kind, std::string name) {
  take_what_is_there();
  add_resident(log_->sample_resident());
  model::Mark mark{.number = 0, .kind = kind, .name = std::move(name), .time_ns = log_->stream().now_ns()};
  uplink_.send(line::message_of(line::Marked{
      .stream = number_, .kind = static_cast<uint64_t>(kind), .name = mark.name, .time_ns = mark.time_ns}));
  return mark;
}

void ForwardedRecording::begin_off() {
  was_off_ = true;
  log_->turn_to(wire::RecordingSwitch::kNotYet);
  (void)mark(model::MarkKind::kStopped, "stop");
}

// As in LocalRecording: the gap starts before recording is switched, and ends after.
base::Result<> ForwardedRecording::set_on(bool on) {
  if (on == is_on()) return {};
  was_off_ |= !on;
  if (on) log_->turn_to(wire::RecordingSwitch::kOn);
  (void)mark(on ? model::MarkKind::kStarted : model::MarkKind::kStopped, on ? "start" : "stop");
  if (!on) log_->turn_to(wire::RecordingSwitch::kOff);
  return {};
}

base::Result<> ForwardedRecording::write_up_to_now() {
  take_what_is_there();
  jit_names_->catch_up();
  send_names();
  tell_figures();
  return {};
}

supervision::RecordingFigures ForwardedRecording::figures() const {
  return {.time_ns = log_->stream().now_ns(),
          .events = event_count_,
          .lost_events = log_->lost_events(),
          .log_used_bytes = log_->used_bytes(),
          .log_limit_bytes = log_->limit_bytes(),
          .scans = seen_.scans,
          .paused_by_tracer_ns = log_->paused_by_tracer_ns()};
}

void ForwardedRecording::tell_figures() {
  send_resident();
  const supervision::RecordingFigures figures = this->figures();
  uplink_.send(line::message_of(line::StreamFigures{.stream = number_,
                                                    .time_ns = figures.time_ns,
                                                    .lost_events = figures.lost_events,
                                                    .log_used_bytes = figures.log_used_bytes,
                                                    .log_limit_bytes = figures.log_limit_bytes,
                                                    .paused_by_tracer_ns = figures.paused_by_tracer_ns}));
}

bool ForwardedRecording::can_finish() {
  // From now on the line limits the progress.
  if (!left_at_ns_) left_at_ns_ = log_->stream().now_ns();
  if (uplink_.is_given_up()) return true;
  constexpr std::chrono::milliseconds kAtOnce{50};  // other processes are recorded at the same time
  return uplink_.has_room() && log_->stream().state().is_empty && has_told_names(kAtOnce);
}

base::Result<> ForwardedRecording::finish(const model::ExitStatus& exit) {
  constexpr std::chrono::seconds kLongestReading{2};  // if nobody has waited for can_finish()
  if (!uplink_.is_given_up()) {
    take_all();
    (void)has_told_names(kLongestReading);
  }
  send_scan();
  if (capture_.detached) add_resident(log_->sample_resident());
  send_resident();
  seen_.calls = event_count_ > 0;
  log_->fill_end(capture_, exit, seen_);
  if (left_at_ns_) capture_.duration_ns = std::min(capture_.duration_ns, *left_at_ns_);
  capture_.event_count = event_count_;
  capture_.gaps = log_->stream().state().gaps;
  log_->note_unseen(capture_, seen_);
  for (const base::Error& why : jit_names_->why_missing()) note(model::failure_note(why.message));
  const size_t notes_before = capture_.notes.size();
  log_->note_no_room(capture_);
  if (const uint64_t count = rows_ ? rows_->left_out() : 0; count > 0) {
    note({.kind = model::NoteKind::kRowsLeftOut, .numbers = {count}});
  }
  is_finished_ = true;
  const std::string capture = end_of(capture_);
  uplink_.send(
      line::message_of(line::RecordingEnded{.stream = number_, .capture = capture, .notes_before = notes_before}));
  return {};
}

}  // namespace heaptap::uplink
