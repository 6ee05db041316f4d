#include "record/trace/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "common/base/check.h"
#include "common/base/unique_fd.h"
#include "common/base/units.h"
#include "common/frames/capture_frames.h"
#include "common/frames/code_name_frames.h"
#include "common/frames/region_frames.h"
#include "common/frames/resident_frames.h"
#include "common/frames/table_frames.h"
#include "common/wire/frame.h"
#include "record/trace/frame_reader.h"
#include "record/trace/frames_ahead.h"
#include "record/trace/machine_check.h"
#include "record/trace/mark_frames.h"
#include "record/trace/scan_list.h"
#include "record/trace/table_builder.h"
#include "record/trace/totals_frame.h"
#include "record/trace/trace_index.h"
#include "record/trace/trace_lock.h"

namespace heaptap::trace {

class TraceReader::Impl {
 public:
  Impl(std::string path, base::UniqueFd file, uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes), frame_reader_(file_.get(), bytes) {
    reset();
  }

  base::Result<> check_head() {
    uint8_t head[wire::kFileHeadBytes];
    const size_t got = read_at(file_.get(), 0, head, sizeof(head));
    if (got < sizeof(head) || __builtin_memcmp(head, wire::kFileMagic, 8) != 0) {
      return base::fail("{} is not a heaptap trace{}", path_, got == 0 ? ": it is empty" : "");
    }
    const uint32_t version = wire::get_u32(head + 8);
    const unsigned major = version & 0xffff;
    if (major > wire::kMajorVersion) {
      return base::fail("{} was written by a newer heaptap (trace format {}.{}, this one reads {}.x): update heaptap",
                        path_, major, version >> 16, wire::kMajorVersion);
    }
    is_numbered_ = version >> 16 >= wire::kNumberedMinorVersion;
    has_notes_ = version >> 16 >= wire::kNotesMinorVersion;
    if (major == 0) return base::fail("{} is damaged: invalid trace format version 0", path_);
    if (major < wire::kMajorVersion) {
      return base::fail(
          "{} was written by an older heaptap (trace format {}.{}, this one reads {}.x): read it with that version",
          path_, major, version >> 16, wire::kMajorVersion);
    }
    return {};
  }

  // Reads the frames of facts, so that the start and the end of the capture are known before a replay.
  void peek() {
    frames_ = read_trace_index(file_.get(), bytes_).frames;
    list_scans();
    for (const FramePlace& place : frames_) {
      Frame frame;
      const bool facts = place.type == wire::FrameType::kCapture || place.type == wire::FrameType::kEnd ||
                         place.type == wire::FrameType::kMarks || place.type == wire::FrameType::kBlockNames ||
                         place.type == wire::FrameType::kResident;
      if (!facts || !frame_reader_.read(place.offset, frame) || frame.head.type != place.type) continue;
      wire::VarintReader payload = frame.payload;
      if (place.type == wire::FrameType::kMarks) {
        read_marks(payload, marks_);
      } else if (place.type == wire::FrameType::kBlockNames) {
        read_block_names(payload, block_names_);
      } else if (place.type == wire::FrameType::kResident) {
        frames::read_resident(payload, resident_);
      } else {
        frames::read_capture(payload, capture_);
      }
    }
  }

  [[nodiscard]] base::Result<> check_machine() const {
    const base::Result<> known = trace::check_machine(capture_);
    if (known) return {};
    return base::fail(
        "{} can't be read: this heaptap doesn't know a machine with {} (the file is damaged, or written by a newer "
        "heaptap)",
        path_, known.error().message);
  }

  base::Result<> replay(EventSink& sink, const ReplayOptions& options) {
    reset();
    FramesAhead frames(
        file_.get(), bytes_,
        {.is_numbered = is_numbered_, .with_events = options.events, .with_addresses = options.addresses},
        options.decoder_thread.value_or(FramesAhead::has_processors()));
    uint64_t offset = wire::kFileHeadBytes;
    const char* end = nullptr;
    while (const DecodedFrame* frame = frames.next()) {
      const char* wrong = frame->wrong != nullptr ? frame->wrong : take(*frame, sink);
      if (wrong != nullptr && (frame->is_last || frame->wrong == nullptr)) {
        offset = frame->offset;
        end = wrong;
        break;
      }
      if (wrong != nullptr) {
        tables_from_.expect_gaps();
        damage_.add(wrong, frame->offset);
      }
      offset = frame->end;
      if (options.progress) options.progress(offset, bytes_);
    }
    tell_damage(end, offset);
    return {};
  }

  base::Result<> follow(EventSink& sink, const ReplayOptions& options) {
    HEAPTAP_TRY(begin_or_grow(options));
    is_growing_ = is_being_written(file_.get()) || (options.writer_lives && options.writer_lives());
    const bool is_growing = is_growing_;
    const size_t scan_frames = scan_frames_;
    const uint64_t pause_at =
        options.pause_after_bytes == 0 ? UINT64_MAX : decoder_->offset() + options.pause_after_bytes;
    const char* end = nullptr;
    while (end == nullptr && !decoder_->has_ended()) {
      if (!decoder_->is_within_frame()) {
        if (decoder_->offset() >= pause_at) break;
        const NextFrame next = look_at_next(is_growing);
        if (next == NextFrame::kIncomplete) break;
        if (next == NextFrame::kTotals) {
          end = take_totals_for_now(sink);
          break;
        }
      }
      if (!decoder_->next(followed_)) break;
      end = take_followed(sink);
    }
    if (scan_frames_ != scan_frames || (scan_frames_ > 0 && !is_growing)) list_scans();
    // The rest of a frame is still being written.
    if (is_growing)
      std::erase_if(scans_.notes, [](const model::Note& note) { return note.kind == model::NoteKind::kScanCutOff; });
    tell_damage(end, end != nullptr ? followed_.offset : decoder_->offset());
    return {};
  }

  [[nodiscard]] uint64_t followed_bytes() const { return decoder_ ? decoder_->offset() : 0; }
  [[nodiscard]] uint64_t file_bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<model::Mark>& marks() const { return marks_; }
  [[nodiscard]] const std::vector<model::BlockName>& block_names() const { return block_names_; }
  [[nodiscard]] const std::vector<model::ResidentSample>& resident() const { return resident_; }

  base::Result<model::HeapScan> load_scan(size_t index) {
    const size_t head = scans_.heads[index];
    const ScanSummary& summary = scans_.scans[index];
    model::Tables tables = frames::empty_tables();
    Frame frame;
    if (!is_plausible(summary)) {
      return base::fail("leak scan {} of {} can't be used: it claims to have more than a trace of this size can hold",
                        summary.facts.number, path_);
    }
    const auto unusable = [&](size_t at) {
      return base::fail("leak scan {} of {} can't be used: its frame at byte {} is damaged; the rest of the trace can",
                        summary.facts.number, path_, frames_[at].offset);
    };
    TableBuilder builder(bytes_, is_numbered_, TableBuilder::Wants::kSitesAndModules);
    for (size_t i = 0; i < head; ++i) {
      if (!is_table(frames_[i].type)) continue;
      if (!frame_reader_.read(frames_[i].offset, frame)) {
        if (!is_numbered_) return unusable(i);
        builder.expect_gaps();
      } else if (builder.take(frame.head.type, frame.payload, tables) != nullptr) {
        return unusable(i);
      }
    }
    ScanFrameReader reader(has_notes_);
    size_t at = head;
    for (; at <= head + summary.frame_count; ++at) {
      if (!frame_reader_.read(frames_[at].offset, frame) || frame.head.type != wire::FrameType::kScan ||
          !reader.add(frame.payload, tables)) {
        return unusable(at);
      }
    }
    if (!reader.whole()) return unusable(at - 1);
    model::HeapScan scan = reader.take();
    scan.resident = read_regions_behind(at, scan.number);
    return scan;
  }

  [[nodiscard]] const ScanList& scans() const { return scans_; }
  [[nodiscard]] const model::Capture& capture() const { return capture_; }
  [[nodiscard]] const model::Tables& tables() const { return tables_; }

 private:
  void list_scans() {
    scans_ =
        trace::list_scans(frames_, bytes_, has_notes_, [this](const FramePlace& place, wire::VarintReader& payload) {
          Frame frame;
          if (!frame_reader_.read(place.offset, frame) || frame.head.type != place.type) return false;
          payload = frame.payload;
          return true;
        });
  }

  // Of the scan whose frames end before the frame at `at`. None: it has none, or a damaged one.
  std::optional<model::ResidentRegions> read_regions_behind(size_t at, uint32_t scan) {
    Frame frame;
    if (at >= frames_.size() || frames_[at].type != wire::FrameType::kScanRegions ||
        !frame_reader_.read(frames_[at].offset, frame) || frame.head.type != wire::FrameType::kScanRegions ||
        frame.payload.varint() != scan) {
      return std::nullopt;
    }
    model::ResidentRegions regions;
    if (!frames::read_regions(frame.payload, regions)) return std::nullopt;
    return regions;
  }

  base::Result<> begin_or_grow(const ReplayOptions& options) {
    struct stat status{};
    if (fstat(file_.get(), &status) != 0) return base::fail("can't read {}: {}", path_, base::reason_of(errno));
    bytes_ = static_cast<uint64_t>(status.st_size);
    frame_reader_.grow(bytes_);
    if (!decoder_) {
      reset();
      frames_.clear();
      marks_.clear();
      block_names_.clear();
      resident_.clear();
      scans_ = {};
      decoder_ = std::make_unique<FrameDecoder>(
          file_.get(), bytes_,
          DecoderOptions{.is_numbered = is_numbered_, .with_events = true, .with_addresses = options.addresses});
    }
    decoder_->grow(bytes_);
    tables_from_.grow(bytes_);
    capture_.trace_bytes = bytes_;
    return {};
  }

  // State of the data at the decoder's position: decodable, incomplete, or totals, which may be replaced in the file.
  enum class NextFrame : uint8_t { kWhole, kIncomplete, kTotals };
  NextFrame look_at_next(bool is_growing) {
    if (!is_growing) return NextFrame::kWhole;
    const uint64_t offset = decoder_->offset();
    uint8_t bytes[wire::kFrameHeadBytes];
    wire::FrameHead head;
    if (read_at(file_.get(), offset, bytes, sizeof(bytes)) < sizeof(bytes)) return NextFrame::kIncomplete;
    if (!wire::read_frame_head(bytes, head)) return NextFrame::kWhole;  // damaged, and reported
    const uint64_t end = offset + sizeof(bytes) + head.stored_bytes;
    if (end < bytes_) return NextFrame::kWhole;
    // The last one may be incomplete.
    Frame frame;
    if (end > bytes_ || !frame_reader_.read(offset, frame)) return NextFrame::kIncomplete;
    return head.type == wire::FrameType::kTotals ? NextFrame::kTotals : NextFrame::kWhole;
  }

  const char* take_totals_for_now(EventSink& sink) {
    Frame frame;
    if (!frame_reader_.read(decoder_->offset(), frame)) return nullptr;
    if (frame.head.checksum == last_totals_checksum_) return nullptr;
    last_totals_checksum_ = frame.head.checksum;
    followed_.offset = decoder_->offset();
    return take_totals(frame.payload, sink) ? nullptr : kUnsound;
  }

  // Null, or why nothing after it can be read.
  const char* take_followed(EventSink& sink) {
    const char* const wrong = followed_.wrong != nullptr ? followed_.wrong : take(followed_, sink);
    if (wrong != nullptr && (followed_.is_last || followed_.wrong == nullptr)) return wrong;
    if (wrong != nullptr) {
      tables_from_.expect_gaps();
      damage_.add(wrong, followed_.offset);
      return nullptr;
    }
    const bool is_new = frames_.empty() || frames_.back().offset != followed_.offset;
    if (is_new && followed_.type != wire::FrameType::kIndex) frames_.push_back({followed_.type, followed_.offset, 0});
    if (followed_.type == wire::FrameType::kScan) ++scan_frames_;
    if (followed_.type == wire::FrameType::kMarks) {
      wire::VarintReader payload = followed_.reader();
      if (!read_marks(payload, marks_)) return kUnsound;
    }
    if (followed_.type == wire::FrameType::kBlockNames) {
      wire::VarintReader payload = followed_.reader();
      if (!read_block_names(payload, block_names_)) return kUnsound;
    }
    if (followed_.type == wire::FrameType::kResident) {
      wire::VarintReader payload = followed_.reader();
      frames::read_resident(payload, resident_);
    }
    return nullptr;
  }

  void reset() {
    tables_ = frames::empty_tables();
    code_names_.reset();
    tables_from_ = TableBuilder(bytes_, is_numbered_, TableBuilder::Wants::kAll);
    damage_ = {};
    last_time_ns_ = 0;
    capture_ = {};
    capture_.trace_bytes = bytes_;
  }

  // The unreadable part, in one sentence. `end`: what is wrong with the frame at `offset`, the last one; null: the file
  // was read up to there.
  void tell_damage(const char* end, uint64_t offset) {
    const bool has_end = capture_.ended || damage_.count > 0;
    capture_.truncated = end != nullptr || damage_.count > 0 || !has_end;
    capture_.running = false;
    capture_.damage.clear();
    capture_.known_until_ns.reset();
    if (!capture_.truncated) return;
    if (damage_.count == 0 && last_time_ns_ != 0) capture_.known_until_ns = last_time_ns_;
    const std::string until = capture_.known_until_ns ? "up to " + base::format_duration(*capture_.known_until_ns) : "";
    const std::string last = end != nullptr ? fmt::format("{} (at byte {} of {})", end, offset, bytes_) : "";
    const bool is_growing = !capture_.ended && (is_growing_ || is_being_written(file_.get()));
    if (is_growing && damage_.count == 0) {
      capture_.running = true;
      capture_.damage = "still being recorded: " + (until.empty() ? "this is the part until now" : "known " + until);
    } else if (damage_.count > 0) {
      capture_.damage =
          fmt::format("{} (at byte {} of {}){}; {}", damage_.first, damage_.offset, bytes_,
                      damage_.count > 1 ? fmt::format(", and so are {} more", damage_.count - 1) : "",
                      last.empty() ? "everything else was read" : "the rest was read, up to this: " + last);
    } else if (end != nullptr) {
      capture_.damage = last + "; everything before it was read" + (until.empty() ? "" : ", " + until);
    } else {
      capture_.damage = "recording was interrupted" + (until.empty() ? "" : "; showing everything " + until);
    }
  }

  // Null, or what is wrong with the frame.
  const char* take(const DecodedFrame& frame, EventSink& sink) {
    wire::VarintReader payload = frame.reader();
    switch (frame.type) {
      case wire::FrameType::kCapture:
        capture_.command.clear();
        capture_.suppressions.clear();
        return take_capture(payload) && capture_.time_resolution_ns > 0 ? nullptr : kUnsound;
      case wire::FrameType::kEnd:
        return take_capture(payload) ? nullptr : kUnsound;
      case wire::FrameType::kEvents:
        if (!frame.batch.time_marks.empty()) {
          last_time_ns_ = std::max(last_time_ns_, frame.batch.time_marks.back().time_ns);
        }
        sink.on_batch(frame.batch, tables_);
        return nullptr;
      case wire::FrameType::kTotals:
        return take_totals(payload, sink) ? nullptr : kUnsound;
      case wire::FrameType::kCodeNames:
        return take_code_names(payload) ? nullptr : kUnsound;
      case wire::FrameType::kScan:  // load_scan reads these
      case wire::FrameType::kScanRegions:
      case wire::FrameType::kResident:
        return nullptr;
      default:
        return tables_from_.take(frame.type, payload, tables_);
    }
  }

  // Repetitive data takes a byte for hundreds of blocks.
  [[nodiscard]] bool is_plausible(const ScanSummary& scan) const {
    constexpr uint64_t kUsual = uint64_t{1} << 22;
    constexpr uint64_t kEntriesAByte = 512;
    constexpr uint64_t kUsualRoots = uint64_t{1} << 20;
    constexpr uint64_t kRootsAByte = 64;
    const uint64_t most = kUsual + kEntriesAByte * bytes_;
    return scan.block_count <= most && scan.pointer_count <= most &&
           scan.root_count <= kUsualRoots + kRootsAByte * bytes_;
  }

  bool take_capture(wire::VarintReader& payload) {
    return frames::read_capture(payload, capture_) && trace::check_machine(capture_).has_value();
  }

  bool take_code_names(wire::VarintReader& payload) {
    if (code_names_ == nullptr) tables_.names = code_names_ = std::make_shared<frames::KnownCodeNames>();
    std::vector<model::CodeName> names;
    return frames::read_code_names(payload, names) &&
           frames::add_code_names(std::move(names), tables_.codes, *code_names_);
  }

  bool take_totals(wire::VarintReader& payload, EventSink& sink) {
    model::Totals totals;
    if (!read_totals(payload, tables_, totals)) return false;
    sink.on_totals(totals, tables_);
    return true;
  }

  std::string path_;
  base::UniqueFd file_;
  uint64_t bytes_;
  FrameReader frame_reader_;
  model::Capture capture_;
  std::shared_ptr<frames::KnownCodeNames> code_names_;  // null: none so far
  model::Tables tables_;
  bool is_numbered_ = true;
  bool has_notes_ = true;
  TableBuilder tables_from_{0, true, TableBuilder::Wants::kAll};
  struct {
    size_t count = 0;  // of damaged or missing frames
    const char* first = nullptr;
    uint64_t offset = 0;
    void add(const char* what, uint64_t where) {
      if (count++ > 0) return;
      first = what;
      offset = where;
    }
  } damage_;
  std::vector<FramePlace> frames_;
  ScanList scans_;
  std::vector<model::Mark> marks_;
  std::vector<model::BlockName> block_names_;
  std::vector<model::ResidentSample> resident_;
  // If the file is followed.
  std::unique_ptr<FrameDecoder> decoder_;
  DecodedFrame followed_;
  size_t scan_frames_ = 0;
  uint32_t last_totals_checksum_ = 0;
  bool is_growing_ = false;    // as of the last follow()
  uint64_t last_time_ns_ = 0;  // of the last event that was decoded
};

base::Result<TraceReader> TraceReader::open(const std::string& path) {
  base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::fail("can't read the trace {}: {}", path, base::reason_of(errno));
  struct stat status{};
  const bool known = fstat(file.get(), &status) == 0;
  auto impl = std::make_unique<Impl>(path, std::move(file), known ? static_cast<uint64_t>(status.st_size) : 0);
  if (!known || !S_ISREG(status.st_mode)) {
    return base::fail("{} is not a heaptap trace: it is {}", path,
                      S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  HEAPTAP_TRY(impl->check_head());
  impl->peek();
  HEAPTAP_TRY(impl->check_machine());
  return TraceReader(std::move(impl));
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

base::Result<> TraceReader::replay(EventSink& sink, const ReplayOptions& options) {
  return impl_->replay(sink, options);
}
base::Result<> TraceReader::follow(EventSink& sink, const ReplayOptions& options) {
  return impl_->follow(sink, options);
}
uint64_t TraceReader::followed_bytes() const { return impl_->followed_bytes(); }
uint64_t TraceReader::file_bytes() const { return impl_->file_bytes(); }
const std::vector<model::Mark>& TraceReader::marks() const { return impl_->marks(); }
const std::vector<model::BlockName>& TraceReader::block_names() const { return impl_->block_names(); }
const std::vector<model::ResidentSample>& TraceReader::resident() const { return impl_->resident(); }
const model::Capture& TraceReader::capture() const { return impl_->capture(); }
const model::Tables& TraceReader::tables() const { return impl_->tables(); }
const std::vector<ScanSummary>& TraceReader::scans() const { return impl_->scans().scans; }
const std::vector<model::Note>& TraceReader::scan_notes() const { return impl_->scans().notes; }
base::Result<model::HeapScan> TraceReader::load_scan(size_t index) {
  HEAPTAP_CHECK(index < scans().size());
  return impl_->load_scan(index);
}

}  // namespace heaptap::trace
