#include "record/remote/remote_recording.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capture/stream/log_endpoint.h"
#include "common/base/clock.h"
#include "common/control/control_messages.h"
#include "common/frames/capture_frames.h"
#include "common/frames/code_name_frames.h"
#include "common/frames/crash_frames.h"
#include "common/frames/region_frames.h"
#include "common/frames/resident_frames.h"
#include "common/line/message_fields.h"
#include "common/model/note_code.h"
#include "record/recordings/recorded_blocks.h"

namespace heaptap::remote {
base::Result<std::unique_ptr<RemoteRecording>> RemoteRecording::create(TargetControl& target, model::Capture capture,
                                                                       const std::string& path, bool overwrite) {
  auto writer = trace::TraceWriter::create(path, overwrite);
  if (!writer) return std::unexpected(std::move(writer).error());
  HEAPTAP_TRY((*writer)->begin(capture));
  return std::unique_ptr<RemoteRecording>(new RemoteRecording(target, *std::move(writer), std::move(capture)));
}

RemoteRecording::RemoteRecording(TargetControl& target, std::unique_ptr<trace::TraceWriter> writer,
                                 model::Capture capture)
    : target_(target),
      writer_(std::move(writer)),
      capture_(std::move(capture)),
      maker_(stream_, *writer_, capture_.time_resolution_ns, capture_.from_start) {}

void RemoteRecording::receive(std::string_view bytes) { stream_.receive(line::bytes_of(bytes)); }

// All of it: the next message may belong after it.
void RemoteRecording::take_received() {
  do {
    maker_.take_next();
  } while (!stream_.state().is_empty);
}

void RemoteRecording::receive_mark(model::Mark mark) {
  take_received();
  if (mark.kind == model::MarkKind::kStopped) maker_.note_gap(model::kGapUnseenWhileOff);
  if (mark.kind == model::MarkKind::kStopped) is_on_ = false;
  if (mark.kind == model::MarkKind::kStarted) is_on_ = true;
  maker_.add_mark(std::move(mark));
}

// A code has one name. Further names, and those of unknown codes, are ignored.
void RemoteRecording::receive_names(std::string_view bytes) {
  take_received();
  wire::VarintReader in(line::bytes_of(bytes).data(), bytes.size());
  std::vector<model::CodeName> names;
  if (!frames::read_code_names(in, names)) return;
  const uint32_t code_count = stream_.tables().code_count();
  for (model::CodeName& name : names) {
    if (name.code >= code_count || name.name.empty()) return;
    if (name.code >= named_.size()) named_.resize(code_count);
    if (named_[name.code] || name_bytes_ + name.name.size() > model::kMaxCodeNamesBytes) return;
    named_[name.code] = true;
    name_bytes_ += name.name.size();
    names_.push_back(std::move(name));
  }
}

void RemoteRecording::receive_resident(std::string_view bytes) {
  wire::VarintReader in(line::bytes_of(bytes).data(), bytes.size());
  std::vector<model::ResidentSample> samples;
  if (!frames::read_resident(in, samples)) return;
  for (const model::ResidentSample& sample : samples) maker_.add_resident(sample);
}

void RemoteRecording::take_names() {
  std::vector<model::CodeName> known;
  std::vector<model::CodeName> rest;
  for (model::CodeName& name : names_) {
    const auto code = maker_.coder().known_code(name.code);
    if (code) {
      known.push_back({*code, std::move(name.name)});
    } else {
      rest.push_back(std::move(name));
    }
  }
  names_ = std::move(rest);
  writer_->add_code_names(std::move(known));
}

const std::vector<model::Module>& RemoteRecording::modules(bool all) {
  if (all) {
    take_received();
    maker_.take_tables();
  }
  return maker_.tables().modules;
}

stream::LiveBlocks RemoteRecording::live_blocks() {
  take_received();
  return recordings::live_blocks_of(
      maker_.coder(), maker_.waiting(), [this](model::SiteId site) { return recordings::is_pool_memory(maker_, site); },
      needs_released());
}

bool RemoteRecording::needs_released() const {
  const bool knows_earlier = capture_.from_start && maker_.sees_all();
  return recordings::needs_released(maker_, maker_.sees_all_releases(), knows_earlier);
}

// Without released blocks: the other machine has found the roots.
base::Result<> RemoteRecording::receive_scan(std::span<const uint8_t> found, const line::ScanEnd& end) {
  auto answer = stream::read_scan_answer(found);
  if (!answer) return base::fail("no leak scan: its data is damaged");
  take_received();
  maker_.take_all();
  maker_.take_tables();
  if (end.reason == model::ScanReason::kEnd) take_crash(end.crash);
  supervision::Recorded recorded = recordings::recorded_by(maker_, maker_.sees_all_releases());
  std::ranges::sort(recorded.blocks, {}, &model::ScannedBlock::address);
  if (stream::fingerprint(recorded.blocks, recorded.pooled) != end.checksum) {
    return base::fail("no leak scan: the two machines don't agree on the live blocks");
  }
  supervision::ScanFacts facts{.stopped_ns = end.stopped_ns,
                               .read_bytes = end.read_bytes,
                               .skipped_bytes = end.skipped_bytes,
                               .threads = end.threads,
                               .notes = end.notes};
  wire::VarintReader in(line::bytes_of(end.regions).data(), end.regions.size());
  model::ResidentRegions resident;
  if (!end.regions.empty() && frames::read_regions(in, resident)) facts.resident = std::move(resident);
  auto scan = supervision::resolve_elsewhere(*std::move(answer), facts, std::move(recorded));
  if (!scan) return std::unexpected(std::move(scan).error());
  scan->time_ns = end.time_ns;
  scan->reason = end.reason;
  maker_.write_scan(*std::move(scan));
  return maker_.written();
}

void RemoteRecording::take_crash(std::string_view bytes) {
  if (bytes.empty()) return;
  wire::VarintReader in(line::bytes_of(bytes).data(), bytes.size());
  if (const auto crash = frames::read_crash(in)) maker_.add_crash(*crash);
}

void RemoteRecording::refuse_scan(const base::Error& why) {
  note(model::failure_note(why.message));
  why_no_scan_ = why;
}

void RemoteRecording::receive_figures(const line::StreamFigures& figures) { told_ = figures; }

// Facts known from the start stay as first received.
void RemoteRecording::receive_end(std::string_view capture, size_t notes_before) {
  wire::VarintReader in(line::bytes_of(capture).data(), capture.size());
  const std::vector<model::Note> own = std::exchange(capture_.notes, {});
  model::Capture told;
  if (!frames::read_capture(in, told)) return cut_off();
  capture_.executed |= told.executed;
  capture_.detached |= told.detached;
  capture_.exit = told.exit;
  capture_.duration_ns = told.duration_ns;
  capture_.ticks_per_second = told.ticks_per_second;
  capture_.lost_events = told.lost_events;
  capture_.paused_by_tracer_ns = told.paused_by_tracer_ns;
  capture_.gaps = told.gaps;
  capture_.notes = std::move(told.notes);
  capture_.collector_cpu_ns = told.collector_cpu_ns;
  capture_.collector_peak_rss_bytes = told.collector_peak_rss_bytes;
  capture_.log_bytes_used = told.log_bytes_used;
  notes_before_ = std::min(notes_before, capture_.notes.size());
  for (const model::Note& note : own) this->note(note);
  has_ended_ = true;
}

void RemoteRecording::cut_off() {
  note({model::NoteKind::kConnectionLost});
  capture_.duration_ns = std::max(capture_.duration_ns, figures().time_ns);  // as far as known
  maker_.note_gap(model::kGapDamagedLog);
}

uint64_t RemoteRecording::poll() {
  take_received();
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  if (now - last_write_ns_ > supervision::longest_unwritten_ns()) (void)write_frame();
  return 0;  // the connection reports further input
}

base::Result<uint32_t> RemoteRecording::scan() {
  const uint32_t before = maker_.scan_count();
  why_no_scan_ = base::make_error("no leak scan: the target's side sent none");
  HEAPTAP_TRY(target_.ask(control::Kind::kScan, fields_of_process()));
  if (maker_.scan_count() == before) return std::unexpected(why_no_scan_);
  return maker_.scan_count();
}

void RemoteRecording::begin_behind(const std::vector<model::Mark>& earlier) {
  maker_.begin_behind(ingest::as_earlier(earlier));
}

message::Fields RemoteRecording::fields_of_process() const {
  return control::encode(control::ProcessRequest{.pid = capture_.pid});
}

// The mark is among the events, before the answer.
base::Result<model::Mark> RemoteRecording::mark(model::MarkKind kind, std::string name) {
  const size_t before = maker_.marks().size();
  const control::MarkRequest request{.pid = capture_.pid, .kind = static_cast<uint64_t>(kind), .name = std::move(name)};
  HEAPTAP_TRY(target_.ask(control::Kind::kMark, control::encode(request)));
  if (maker_.marks().size() == before) return base::fail("the target's side set no mark");
  return maker_.marks().back();
}

base::Result<> RemoteRecording::set_on(bool on) {
  return target_.ask(on ? control::Kind::kStart : control::Kind::kStop, fields_of_process());
}

void RemoteRecording::set_depth(uint32_t frames) {
  take_received();
  maker_.coder().set_depth(frames);
}

base::Result<> RemoteRecording::write_frame() {
  take_names();
  maker_.write_frame();
  last_write_ns_ = base::clock_ns(CLOCK_MONOTONIC);
  return maker_.written();
}

base::Result<> RemoteRecording::write_up_to_now() {
  (void)target_.ask(control::Kind::kSnapshot, fields_of_process());  // without a connection: as far as it came
  take_received();
  return write_frame();
}

base::Result<> RemoteRecording::write_up_to_mark(model::MarkKind kind, std::string name) {
  HEAPTAP_TRY(mark(kind, std::move(name)));
  return write_frame();
}

supervision::RecordingFigures RemoteRecording::figures() const {
  return {.time_ns = std::max(told_.time_ns, stream_.state().elapsed_ns),
          .events = maker_.event_count(),
          .lost_events = told_.lost_events,
          .log_used_bytes = told_.log_used_bytes,
          .log_limit_bytes = told_.log_limit_bytes,
          .trace_bytes = writer_->bytes_written(),
          .marks = static_cast<uint32_t>(maker_.marks().size()),
          .scans = maker_.scan_count(),
          .paused_by_tracer_ns = told_.paused_by_tracer_ns};
}

void RemoteRecording::note(model::Note note) { stream::add_note(capture_, std::move(note)); }

base::Result<> RemoteRecording::finish(const model::ExitStatus& /*exit*/) {
  maker_.take_all();
  (void)write_frame();
  if (!stream_.failure().empty()) note(model::failure_note(stream_.failure()));
  if (!has_ended_) cut_off();
  // The part of the answer that this side knows.
  capture_.ended = true;
  capture_.event_count = maker_.event_count();
  capture_.lost_events += capture_.event_count - writer_->events_written();
  capture_.gaps |= maker_.gaps();
  std::vector<model::Note> behind(capture_.notes.begin() + static_cast<std::ptrdiff_t>(notes_before_),
                                  capture_.notes.end());
  capture_.notes.resize(notes_before_);
  maker_.note_missed_releases(capture_);
  maker_.tell_crash(capture_);
  std::ranges::move(behind, std::back_inserter(capture_.notes));
  if (!maker_.written()) return maker_.written();
  return writer_->finish(capture_, maker_.tables());
}

}  // namespace heaptap::remote
