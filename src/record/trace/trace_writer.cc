#include "record/trace/trace_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "common/frames/capture_frames.h"
#include "common/frames/code_name_frames.h"
#include "common/frames/region_frames.h"
#include "common/frames/resident_frames.h"
#include "record/trace/mark_frames.h"
#include "record/trace/scan_frames.h"
#include "record/trace/totals_frame.h"
#include "record/trace/trace_lock.h"

namespace heaptap::trace {
namespace {

constexpr int kTableLevel = 3;  // of zstd

}  // namespace

base::Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path, bool overwrite) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (overwrite ? O_TRUNC : O_EXCL);
  base::UniqueFd descriptor(open(path.c_str(), flags, 0644));
  if (!descriptor && errno == EEXIST) {
    return base::fail("{} exists already: choose another name with -o FILE, or overwrite it with --force", path);
  }
  if (!descriptor && errno == ELOOP) {
    return base::fail("can't write the trace to {}: it is a symbolic link; name the file itself, or remove the link",
                      path);
  }
  if (!descriptor) {
    return base::fail("can't write the trace to {}: {}; choose another place with -o FILE", path,
                      base::reason_of(errno));
  }
  hold_as_writer(descriptor.get());
  return std::unique_ptr<TraceWriter>(new TraceWriter(path, std::move(descriptor)));
}

base::Result<std::unique_ptr<TraceWriter>> TraceWriter::create_in_memory(const std::string& path) {
  base::UniqueFd descriptor(memfd_create("heaptap-events", MFD_CLOEXEC));
  if (!descriptor) return base::fail("no memory for the last events: {}", base::reason_of(errno));
  return std::unique_ptr<TraceWriter>(new TraceWriter(path, std::move(descriptor)));
}

TraceWriter::TraceWriter(std::string path, base::UniqueFd descriptor)
    : path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      compressor_(kTableLevel),
      event_writer_(kEventLevel) {}

TraceWriter::~TraceWriter() { give_up_waiting(); }

base::UniqueFd TraceWriter::open_for_reading() const {
  return base::UniqueFd(open(base::path_of(descriptor_).c_str(), O_RDONLY | O_CLOEXEC));
}

base::Result<> TraceWriter::begin(const model::Capture& capture) {
  resolution_ns_ = capture.time_resolution_ns;
  uint8_t head[wire::kFileHeadBytes] = {};
  __builtin_memcpy(head, wire::kFileMagic, 8);
  wire::put_u32(head + 8, uint32_t{wire::kMajorVersion} | uint32_t{wire::kMinorVersion} << 16);
  HEAPTAP_TRY(append(head, sizeof(head)));
  offset_ += sizeof(head);
  payload_.clear();
  frames::write_capture_start(payload_, capture);
  return write_frame(wire::FrameType::kCapture, payload_, false);
}

void TraceWriter::add(const model::EventBatch& batch, const model::Tables& tables) {
  model::EventBatch copy = batch;
  take(copy, tables);
}

void TraceWriter::take(model::EventBatch& batch, const model::Tables& tables) {
  if (!waiting_.empty()) (void)append_made(false);  // the next flush reports it
  if (is_behind_ && pool_ != nullptr && events_pending() == 0 && !frame_) frame_ = pool_->begin();
  if (!frame_) return event_writer_.add(batch, tables.sites);
  frame_events_ += batch.events.size();
  pool_->add(*frame_, batch, sites_.view(tables.sites));
}

base::Result<> TraceWriter::flush(const model::Tables& tables) {
  HEAPTAP_TRY(end_frame(tables));
  return append_made(true);
}

base::Result<> TraceWriter::end_frame(const model::Tables& tables) {
  HEAPTAP_TRY(append_made(false));
  HEAPTAP_TRY(write_tables(tables));
  HEAPTAP_TRY(write_pending_marks());
  HEAPTAP_TRY(write_pending_names());
  HEAPTAP_TRY(write_pending_code_names());
  // Where nothing happens the trace doesn't grow: who follows it would take that for news.
  constexpr size_t kMaxPendingResident = 1024;
  const size_t events = events_pending();
  if (events == 0 && resident_pending_.size() < kMaxPendingResident) return {};
  // Totals could no longer be replaced if these were written after them.
  if (!ends_with_totals()) HEAPTAP_TRY(write_pending_resident());
  if (events == 0) return {};
  HEAPTAP_TRY(write_events());
  event_count_ += events;
  return {};
}

base::Result<> TraceWriter::write_events() {
  Waiting waiting{.type = wire::FrameType::kEvents,
                  .codec = wire::Codec::kNone,
                  .raw_bytes = 0,
                  .first_event = event_count_,
                  .events = events_pending(),
                  .stored = {},
                  .frame = std::exchange(frame_, nullptr)};
  if (waiting.frame == nullptr) {
    const frames::ByteBuffer& payload = event_writer_.finish(resolution_ns_);
    return put(std::move(waiting), {payload.data(), payload.size()});
  }
  frame_events_ = 0;
  pool_->end(*waiting.frame, resolution_ns_);
  waiting_.push_back(std::move(waiting));
  return {};
}

model::Mark TraceWriter::add_mark(model::Mark mark) {
  mark.number = ++mark_count_;
  mark.events_before = event_count_ + events_pending();
  return marks_pending_.emplace_back(std::move(mark));
}

void TraceWriter::begin_behind(const std::vector<model::Mark>& earlier) {
  if (earlier.empty()) return;
  for (const model::Mark& mark : earlier) {
    marks_pending_.push_back({.number = mark.number, .kind = model::MarkKind::kEarlier, .name = mark.name});
  }
  mark_count_ = earlier.back().number;
}

// Before the events around them: a reader that follows the trace knows of a mark when its place comes.
base::Result<> TraceWriter::write_pending_marks() {
  if (marks_pending_.empty()) return {};
  payload_.clear();
  write_marks(payload_, marks_pending_);
  marks_pending_.clear();
  return write_frame(wire::FrameType::kMarks, payload_, false);
}

base::Result<> TraceWriter::write_pending_names() {
  if (names_pending_.empty()) return {};
  payload_.clear();
  write_block_names(payload_, names_pending_);
  names_pending_.clear();
  return write_frame(wire::FrameType::kBlockNames, payload_, false);
}

void TraceWriter::add_code_names(std::vector<model::CodeName> names) {
  for (model::CodeName& name : names) {
    if (code_name_bytes_ + name.name.size() > model::kMaxCodeNamesBytes) return;
    code_name_bytes_ += name.name.size();
    code_names_pending_.push_back(std::move(name));
  }
}

base::Result<> TraceWriter::write_pending_code_names() {
  constexpr size_t kMaxInFrame = 16384;  // bytes of events, a quarter of a frame's maximum
  return write_in_frames(code_names_pending_, kMaxInFrame, frames::write_code_names, wire::FrameType::kCodeNames, true);
}

void TraceWriter::add_resident(const model::ResidentSample& sample) {
  if (sample.time_ns < last_resident_ns_ || resident_count_ == model::kMaxResidentSamples) return;
  ++resident_count_;
  last_resident_ns_ = sample.time_ns;
  resident_pending_.push_back(sample);
}

base::Result<> TraceWriter::write_pending_resident() {
  constexpr size_t kMaxInFrame = 65536;
  return write_in_frames(resident_pending_, kMaxInFrame, frames::write_resident, wire::FrameType::kResident, false);
}

template <typename Entry>
base::Result<> TraceWriter::write_in_frames(std::vector<Entry>& pending, size_t max_in_frame,
                                            void (*encode)(frames::ByteBuffer&, std::span<const Entry>),
                                            wire::FrameType type, bool compress) {
  for (std::span<const Entry> rest = pending; !rest.empty();) {
    const auto entries = rest.first(std::min(max_in_frame, rest.size()));
    rest = rest.subspan(entries.size());
    payload_.clear();
    encode(payload_, entries);
    HEAPTAP_TRY(write_frame(type, payload_, compress));
  }
  pending.clear();
  return {};
}

bool TraceWriter::ends_with_totals() const {
  if (!waiting_.empty()) return waiting_.back().type == wire::FrameType::kTotals;
  return !index_.empty() && index_.back().type == wire::FrameType::kTotals;
}

base::Result<> TraceWriter::write_scan(const model::HeapScan& scan, const model::Tables& tables) {
  HEAPTAP_TRY(flush(tables));
  HEAPTAP_TRY(write_pending_resident());
  const bool was_kept = scan.reason == model::ScanReason::kExitBegins;
  ScanFrameWriter frames(scan, was_kept ? std::min(scan.events_before, event_count_) : event_count_);
  while (const frames::ByteBuffer* payload = frames.next())
    HEAPTAP_TRY(write_frame(wire::FrameType::kScan, *payload, true));
  if (!scan.resident) return {};
  payload_.clear();
  payload_.varint(scan.number);
  frames::write_regions(payload_, *scan.resident);
  return write_frame(wire::FrameType::kScanRegions, payload_, true);
}

base::Result<> TraceWriter::write_totals(const model::Totals& totals, const model::Tables& tables) {
  HEAPTAP_TRY(append_made(true));
  if (ends_with_totals()) HEAPTAP_TRY(take_back_last_frame());
  HEAPTAP_TRY(write_tables(tables));
  HEAPTAP_TRY(write_pending_resident());
  payload_.clear();
  trace::write_totals(payload_, totals);
  return write_frame(wire::FrameType::kTotals, payload_, true);
}

base::Result<> TraceWriter::take_back_last_frame() {
  if (failure_) return std::unexpected(*failure_);
  const uint64_t offset = index_.back().offset;
  if (ftruncate(descriptor_.get(), static_cast<off_t>(offset)) != 0) return {};  // it stays; a later one is used
  offset_ = offset;
  index_.pop_back();
  --frame_number_;
  return {};
}

base::Result<> TraceWriter::finish(const model::Capture& capture, const model::Tables& tables) {
  HEAPTAP_TRY(flush(tables));
  HEAPTAP_TRY(write_pending_resident());
  payload_.clear();
  frames::write_capture_end(payload_, capture);
  HEAPTAP_TRY(write_frame(wire::FrameType::kEnd, payload_, false));
  return write_index();
}

base::Result<> TraceWriter::write_tables(const model::Tables& tables) {
  const auto write_new = [&](wire::FrameType type, const auto& entries, size_t& written,
                             auto&& encode) -> base::Result<> {
    if (entries.size() <= written) return {};
    payload_.clear();
    encode(payload_, entries, written);
    frames::write_first_number(payload_, written);
    written = entries.size();
    return write_frame(type, payload_, true);
  };
  HEAPTAP_TRY(write_new(wire::FrameType::kModules, tables.modules, written_.modules, frames::write_modules));
  HEAPTAP_TRY(write_new(wire::FrameType::kCodes, tables.codes, written_.codes, frames::write_codes));
  HEAPTAP_TRY(write_new(wire::FrameType::kStacks, tables.stacks, written_.stacks, frames::write_stacks));
  HEAPTAP_TRY(write_new(wire::FrameType::kLabels, tables.labels, written_.labels, frames::write_labels));
  HEAPTAP_TRY(write_new(wire::FrameType::kSites, tables.sites, written_.sites, frames::write_sites));
  return write_new(wire::FrameType::kThreads, tables.threads, written_.threads, frames::write_threads);
}

base::Result<> TraceWriter::write_frame(wire::FrameType type, const frames::ByteBuffer& payload, bool compress) {
  Waiting frame{.type = type,
                .codec = wire::Codec::kNone,
                .raw_bytes = static_cast<uint32_t>(payload.size()),
                .first_event = event_count_,
                .events = 0,
                .stored = {},
                .frame = nullptr};
  if (compress) {
    const std::vector<uint8_t>& compressed = compressor_.compress(payload.data(), payload.size());
    if (!compressed.empty()) {
      frame.codec = wire::Codec::kZstd;
      return put(std::move(frame), compressed);
    }
  }
  return put(std::move(frame), {payload.data(), payload.size()});
}

base::Result<> TraceWriter::put(Waiting frame, std::span<const uint8_t> stored) {
  if (waiting_.empty()) {
    auto appended = append_frame(frame, stored);
    if (!appended) give_up_waiting();  // a frame that is begun takes others' room in the pool
    return appended;
  }
  frame.stored.assign(stored.begin(), stored.end());
  waiting_.push_back(std::move(frame));
  return {};
}

// Those that are made, in their order; `all`: when they are.
base::Result<> TraceWriter::append_made(bool all) {
  while (!waiting_.empty()) {
    Waiting& next = waiting_.front();
    if (next.frame != nullptr) {
      if (all) pool_->wait_for(*next.frame);
      if (!next.frame->is_made()) return {};
    }
    const std::span<const uint8_t> stored = next.frame != nullptr ? next.frame->payload() : next.stored;
    if (const auto appended = append_frame(next, stored); !appended) {
      give_up_waiting();
      return appended;
    }
    waiting_.pop_front();
  }
  return failure_ ? std::unexpected(*failure_) : base::Result<>{};
}

void TraceWriter::give_up_waiting() {
  if (frame_) pool_->abandon(*std::exchange(frame_, nullptr));
  for (const Waiting& each : waiting_) {
    if (each.frame != nullptr) pool_->abandon(*each.frame);
  }
  waiting_.clear();
  frame_events_ = 0;
}

base::Result<> TraceWriter::append_frame(const Waiting& frame, std::span<const uint8_t> stored) {
  const auto stored_bytes = static_cast<uint32_t>(stored.size());
  const wire::FrameHead head{.type = frame.type,
                             .codec = frame.codec,
                             .stored_bytes = stored_bytes,
                             .raw_bytes = frame.codec == wire::Codec::kNone ? stored_bytes : frame.raw_bytes,
                             .number = frame_number_,
                             .checksum = 0};
  bytes_.resize(wire::kFrameHeadBytes + stored.size());
  if (!stored.empty()) __builtin_memcpy(bytes_.data() + wire::kFrameHeadBytes, stored.data(), stored.size());
  wire::write_frame_head(bytes_.data(), head, bytes_.data() + wire::kFrameHeadBytes);
  HEAPTAP_TRY(append(bytes_.data(), bytes_.size()));
  index_.push_back({frame.type, offset_, frame.first_event});
  offset_ += bytes_.size();
  ++frame_number_;
  events_written_ += frame.events;
  return {};
}

base::Result<> TraceWriter::write_index() {
  const uint64_t index_offset = offset_;
  payload_.clear();
  payload_.varint(index_.size());
  uint64_t offset = 0;
  uint64_t event = 0;
  for (const FramePlace& entry : index_) {
    payload_.varint(static_cast<uint64_t>(entry.type));
    payload_.varint(entry.offset - offset);
    payload_.varint(entry.first_event - event);
    offset = entry.offset;
    event = entry.first_event;
  }
  HEAPTAP_TRY(write_frame(wire::FrameType::kIndex, payload_, true));
  uint8_t trailer[wire::kTrailerBytes];
  wire::put_u64(trailer, index_offset);
  __builtin_memcpy(trailer + 8, wire::kTrailerMagic, 8);
  HEAPTAP_TRY(append(trailer, sizeof(trailer)));
  offset_ += sizeof(trailer);
  return {};
}

base::Result<> TraceWriter::append(const void* data, size_t bytes) {
  if (failure_) return std::unexpected(*failure_);
  const auto* from = static_cast<const uint8_t*>(data);
  for (size_t done = 0; done < bytes;) {
    const ssize_t result = pwrite(descriptor_.get(), from + done, bytes - done, static_cast<off_t>(offset_ + done));
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) {
      failure_ = base::make_error("can't write to {}: {}; everything written before can be read", path_,
                                  base::reason_of(result < 0 ? errno : ENOSPC));
      // The rest of a frame that didn't fit would only look like damage. If truncating it fails, it just stays.
      [[maybe_unused]] const int cut = ftruncate(descriptor_.get(), static_cast<off_t>(offset_));
      return std::unexpected(*failure_);
    }
    done += static_cast<size_t>(result);
  }
  return {};
}

}  // namespace heaptap::trace
