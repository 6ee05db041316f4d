#include "host/intake/trace_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "host/base/check.h"
#include "host/intake/capture_frames.h"
#include "host/intake/compression.h"
#include "host/intake/event_frame.h"
#include "host/intake/scan_list.h"
#include "host/intake/table_frames.h"
#include "host/intake/trace_index.h"
#include "wire/frame.h"

namespace heaptap::intake {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Reads `bytes` at `offset`; fewer only at the file's end or on an error.
  size_t read_at(uint64_t offset, uint8_t* to, size_t bytes) const {
    size_t done = 0;
    while (done < bytes) {
      const ssize_t result = pread(descriptor_, to + done, bytes - done, static_cast<off_t>(offset + done));
      if (result < 0 && errno == EINTR) continue;
      if (result <= 0) break;
      done += static_cast<size_t>(result);
    }
    return done;
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

class TraceReader::Impl {
 public:
  Impl(std::string path, int descriptor, uint64_t bytes) : path_(std::move(path)), file_(descriptor), bytes_(bytes) {
    reset();
  }

  base::Result<> check_head() const {
    uint8_t head[wire::kFileHeadBytes];
    const size_t got = file_.read_at(0, head, sizeof(head));
    if (got < sizeof(head) || __builtin_memcmp(head, wire::kFileMagic, 8) != 0) {
      return base::fail("{} is not a heaptap trace{}", path_, got == 0 ? ": it is empty" : "");
    }
    const uint32_t version = wire::get_u32(head + 8);
    const unsigned major = version & 0xffff;
    if (major > wire::kMajorVersion) {
      return base::fail(
          "{} was written by a newer heaptap (trace format {}.{}, this one reads up to {}.x): update heaptap", path_,
          major, version >> 16, wire::kMajorVersion);
    }
    if (major == 0) return base::fail("{} is damaged: it names a trace format that never was (0)", path_);
    return {};
  }

  // Reads the frames of facts, so that these are there before a replay: how the capture began, and how it ended.
  void peek() {
    frames_ = read_trace_index(file_.descriptor(), bytes_).frames;
    scans_ = list_scans(frames_, bytes_, [this](const FramePlace& place, wire::VarintReader& payload) {
      Frame frame;
      if (!read_frame(place.offset, frame) || frame.head.type != place.type) return false;
      payload = frame.payload;
      return true;
    });
    for (const FramePlace& place : frames_) {
      Frame frame;
      const bool facts = place.type == wire::FrameType::kCapture || place.type == wire::FrameType::kEnd;
      if (!facts || !read_frame(place.offset, frame) || frame.head.type != place.type) continue;
      wire::VarintReader payload = frame.payload;
      read_capture(payload, capture_);
    }
  }

  base::Result<> replay(EventSink& sink, const ReplayOptions& options) {
    reset();
    uint64_t offset = wire::kFileHeadBytes;
    uint32_t number = 0;
    bool saw_index = false;
    for (Frame frame; offset < bytes_ && !saw_index; ++number) {
      const char* wrong = nullptr;
      if (!read_frame(offset, frame)) {
        wrong = offset + frame_bytes_wanted_ > bytes_ ? "the file ends in the middle of a frame" : "a frame is damaged";
      } else if (frame.head.number != number) {
        wrong = "frames are missing";
      } else if (!take(frame, sink, options)) {
        wrong = "a frame's contents don't hold together";
      }
      if (wrong != nullptr) {
        note_damage(wrong, offset);
        return {};
      }
      saw_index = frame.head.type == wire::FrameType::kIndex;
      offset += wire::kFrameHeadBytes + frame.head.stored_bytes;
      if (options.progress) options.progress(offset, bytes_);
    }
    if (!capture_.ended) note_damage("the trace ends without its last frame: the recording was cut off", offset);
    return {};
  }

  base::Result<model::HeapScan> load_scan(size_t index) {
    const size_t head = scans_.heads[index];
    const ScanSummary& summary = scans_.scans[index];
    model::Tables tables = empty_tables();
    Frame frame;
    const auto unusable = [&](size_t at) {
      return base::fail(
          "leak scan {} of {} can't be used: its frame at byte {} is damaged; what else is in the trace can",
          summary.facts.number, path_, frames_[at].offset);
    };
    for (size_t i = 0; i < head; ++i) {
      if (!extends_tables(frames_[i].type)) continue;
      if (!read_frame(frames_[i].offset, frame) || !take_entries(frame, tables)) return unusable(i);
    }
    ScanFrameReader reader;
    size_t at = head;
    for (; at <= head + summary.frame_count; ++at) {
      if (!read_frame(frames_[at].offset, frame) || frame.head.type != wire::FrameType::kScan ||
          !reader.add(frame.payload, tables)) {
        return unusable(at);
      }
    }
    if (!reader.whole()) return unusable(at - 1);
    return reader.take();
  }

  [[nodiscard]] const ScanList& scans() const { return scans_; }
  [[nodiscard]] const model::Capture& capture() const { return capture_; }
  [[nodiscard]] const model::Tables& tables() const { return tables_; }

 private:
  struct Frame {
    wire::FrameHead head;
    wire::VarintReader payload;  // decompressed; valid until the next frame is read
  };

  void reset() {
    tables_ = empty_tables();
    capture_ = {};
    capture_.trace_bytes = bytes_;
  }

  void note_damage(std::string_view what, uint64_t offset) {
    capture_.truncated = true;
    capture_.damage = fmt::format("{} (at byte {} of {}); what is before it was read", what, offset, bytes_);
  }

  bool read_frame(uint64_t offset, Frame& frame) {
    uint8_t head[wire::kFrameHeadBytes];
    frame_bytes_wanted_ = sizeof(head);
    if (file_.read_at(offset, head, sizeof(head)) != sizeof(head) || !wire::read_frame_head(head, frame.head))
      return false;
    frame_bytes_wanted_ += frame.head.stored_bytes;
    if (offset + frame_bytes_wanted_ > bytes_) return false;
    stored_.resize(frame.head.stored_bytes);
    if (file_.read_at(offset + sizeof(head), stored_.data(), stored_.size()) != stored_.size()) return false;
    if (!wire::checksum_matches(head, frame.head, stored_.data())) return false;
    if (frame.head.codec == wire::Codec::kNone) {
      frame.payload = wire::VarintReader(stored_.data(), stored_.size());
      return true;
    }
    if (frame.head.codec != wire::Codec::kZstd ||
        !decompressor_.decompress(stored_.data(), stored_.size(), frame.head.raw_bytes, raw_)) {
      return false;
    }
    frame.payload = wire::VarintReader(raw_.data(), raw_.size());
    return true;
  }

  bool take(Frame& frame, EventSink& sink, const ReplayOptions& options) {
    switch (frame.head.type) {
      case wire::FrameType::kCapture:
        capture_.command.clear();
        return read_capture(frame.payload, capture_) && capture_.time_resolution_ns > 0;
      case wire::FrameType::kEnd:
        return read_capture(frame.payload, capture_);
      case wire::FrameType::kEvents:
        return take_events(frame, sink, options);
      case wire::FrameType::kScan:
        return true;  // load_scan reads these
      default:
        return take_entries(frame, tables_);
    }
  }

  static bool extends_tables(wire::FrameType type) {
    return type >= wire::FrameType::kModules && type <= wire::FrameType::kThreads;
  }

  static bool take_entries(Frame& frame, model::Tables& tables) {
    switch (frame.head.type) {
      case wire::FrameType::kModules:
        return read_modules(frame.payload, tables);
      case wire::FrameType::kCodes:
        return read_codes(frame.payload, tables);
      case wire::FrameType::kStacks:
        return read_stacks(frame.payload, tables);
      case wire::FrameType::kSites:
        return read_sites(frame.payload, tables);
      case wire::FrameType::kThreads:
        return read_threads(frame.payload, tables);
      default:
        return true;  // an index, or a type that a newer minor version added
    }
  }

  bool take_events(Frame& frame, EventSink& sink, const ReplayOptions& options) {
    if (capture_.time_resolution_ns == 0 ||
        !event_reader_.read(frame.payload, tables_, capture_.time_resolution_ns, options.addresses, batch_)) {
      return false;
    }
    if (batch_.first_block != next_block(batch_)) return false;
    sink.on_batch(batch_, tables_);
    return true;
  }

  // The number that this batch has to begin with; counts its allocations for the next one.
  model::BlockNumber next_block(const model::EventBatch& batch) {
    if (batch.first_block == 1) blocks_ = 1;
    const model::BlockNumber first = blocks_;
    for (const model::Event& event : batch.events) {
      blocks_ += tables_.sites[event.site].kind == model::EventKind::kAllocate ? 1 : 0;
    }
    return first;
  }

  std::string path_;
  File file_;
  uint64_t bytes_;
  uint64_t frame_bytes_wanted_ = 0;
  model::Capture capture_;
  model::Tables tables_;
  model::EventBatch batch_;
  model::BlockNumber blocks_ = 1;
  std::vector<FramePlace> frames_;
  ScanList scans_;
  std::vector<uint8_t> stored_, raw_;
  Decompressor decompressor_;
  EventFrameReader event_reader_;
};

base::Result<TraceReader> TraceReader::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return base::fail("can't read the trace {}: {}", path, base::reason_of(errno));
  struct stat status{};
  const bool known = fstat(descriptor, &status) == 0;
  auto impl = std::make_unique<Impl>(path, descriptor, known ? static_cast<uint64_t>(status.st_size) : 0);
  if (!known || !S_ISREG(status.st_mode)) {
    return base::fail("{} is not a heaptap trace: it is {}", path,
                      S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  HEAPTAP_TRY(impl->check_head());
  impl->peek();
  return TraceReader(std::move(impl));
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;
TraceReader::~TraceReader() = default;

base::Result<> TraceReader::replay(EventSink& sink, const ReplayOptions& options) {
  return impl_->replay(sink, options);
}
const model::Capture& TraceReader::capture() const { return impl_->capture(); }
const model::Tables& TraceReader::tables() const { return impl_->tables(); }
const std::vector<ScanSummary>& TraceReader::scans() const { return impl_->scans().scans; }
const std::vector<std::string>& TraceReader::scan_notes() const { return impl_->scans().notes; }
base::Result<model::HeapScan> TraceReader::load_scan(size_t index) {
  HEAPTAP_CHECK(index < scans().size());
  return impl_->load_scan(index);
}

}  // namespace heaptap::intake
