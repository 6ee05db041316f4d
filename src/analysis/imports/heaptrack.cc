#include "analysis/imports/heaptrack.h"

#include <algorithm>
#include <utility>

#include "analysis/imports/command_words.h"
#include "analysis/imports/damage.h"
#include "analysis/imports/fields.h"
#include "analysis/imports/name_table.h"
#include "analysis/imports/text_file.h"
#include "common/model/page_size.h"
#include "common/model/unscanned_source.h"

namespace heaptap::imports {
namespace {

constexpr uint64_t kOldestFormat = 1;
constexpr uint64_t kNewestFormat = 3;
// heaptrack 1.0 wrote this version before the format had one.
constexpr uint64_t kToolOfFormatOne = 0x10200;

constexpr size_t kMaxStacks = size_t{1} << 26;
constexpr size_t kMaxInfos = size_t{1} << 26;
constexpr uint64_t kMaxLiveBlocks = uint64_t{1} << 27;
constexpr uint64_t kMaxSize = uint64_t{1} << 56;  // of a block: the sum of all live ones fits
constexpr uint64_t kMaxMilliseconds = uint64_t{1} << 43;
constexpr size_t kMaxInlined = 4096;
constexpr size_t kMaxFactLines = 4096;  // lines searched for the file's facts
constexpr uint64_t kNsPerMs = 1'000'000;

// heaptrack has no threads. All calls get this one, except releases that heaptrack doesn't count as temporary: the
// ledger counts a release as temporary if it follows the allocation in the same thread.
constexpr model::ThreadId kThread = 1;
constexpr model::ThreadId kLaterReleases = 2;

constexpr uint64_t kNoInfo = ~uint64_t{0};

// Versions in a file's first line, "v 10400 3". None: the line isn't one.
struct Versions {
  uint64_t tool = 0;
  uint64_t format = 0;
};
std::optional<Versions> versions_of(std::string_view line) {
  if (!line.starts_with("v ")) return std::nullopt;
  Fields fields(line.substr(2));
  const auto tool = fields.hex();
  if (!tool) return std::nullopt;
  const auto format = fields.hex();
  if (!format && !fields.at_end()) return std::nullopt;
  return Versions{*tool, format.value_or(*tool == kToolOfFormatOne ? 1 : 0)};
}

// One pass over a heaptrack file.
class Pass {
 public:
  // `file`: after its first line, which has the format's version. `sink`: null if only tables and facts are wanted.
  Pass(TextFile& file, uint64_t format, model::Capture& capture, model::Tables& tables,
       std::vector<model::ResidentSample>& resident, model::EventSink* sink)
      : file_(file),
        capture_(capture),
        tables_(tables),
        resident_(resident),
        sink_(sink),
        has_sized_strings_(format >= 3) {
    names_ = std::make_shared<NameTable>();
    tables_.names = names_;
    tables_.stacks.resize(wire::kRootCount);
    release_site_ = add_site(model::EventKind::kRelease, wire::Function::kFreeOrDelete, 0);
  }

  // The facts before the first event.
  void read_head() {
    for (size_t lines = 0; lines < kMaxFactLines; ++lines) {
      const auto line = file_.next();
      if (!line || line->starts_with('+') || line->starts_with('-') || !take(*line)) return;
      is_raw_ = is_raw_ || line->starts_with("x ") || line->starts_with("m ");
    }
  }
  // A raw file, not yet read by heaptrack_interpret: it has modules instead of names.
  [[nodiscard]] bool is_raw() const { return is_raw_; }

  void read_all(const model::ReplayOptions& options) {
    constexpr uint64_t kLinesBetweenNews = uint64_t{1} << 16;
    while (const auto line = file_.next()) {
      if (!take(*line)) break;
      if (options.progress && file_.line_number() % kLinesBetweenNews == 0)
        options.progress(file_.read_bytes(), file_.file_bytes());
    }
    hand_on();
    capture_.damage = damage_text(file_, fault_);
    capture_.truncated = !capture_.damage.empty();
    capture_.ended = !capture_.truncated;
    capture_.duration_ns = time_ns_;
    capture_.event_count = events_;
    capture_.lost_events = lost_events_;
    capture_.notes.push_back({.kind = model::NoteKind::kImportedHeaptrack});
    if (skipped_lines_ != 0) {
      capture_.notes.push_back({.kind = model::NoteKind::kImportedLinesSkipped, .numbers = {skipped_lines_}});
    }
  }

 private:
  // False: the rest of the file after this line can't be read.
  bool take(std::string_view line) {
    if (line.empty()) return true;
    const std::string_view rest = line.size() > 2 ? line.substr(2) : std::string_view();
    if (line.size() > 1 && line[1] != ' ') return skip();
    switch (line[0]) {
      case '+':
        return on_allocation(rest);
      case '-':
        return on_release(rest);
      case 's':
        return on_string(rest);
      case 'i':
        return on_code(rest);
      case 't':
        return on_stack(rest);
      case 'a':
        return on_info(rest);
      case 'c':
        return on_time(rest);
      case 'X':
        return on_command(rest);
      case 'I':
        return on_machine(rest);
      case 'A':
        capture_.from_start = false;
        return true;
      case 'R':
        return on_resident(rest);
      case '#':  // a comment
      case 'S':  // heaptrack's suppressions: without a scan there are no leaks to match
        return true;
      default:
        return skip();
    }
  }

  bool skip() {
    ++skipped_lines_;
    return true;
  }
  bool lose_event() {
    ++lost_events_;
    return skip();
  }
  bool fail(Fault fault) {
    fault_ = fault;
    return false;
  }

  bool on_command(std::string_view text) {
    if (!capture_.command.empty()) return skip();
    capture_.command = words_of_command(text);
    return true;
  }

  bool on_machine(std::string_view text) {
    const auto page_bytes = Fields(text).hex();
    if (!page_bytes || !model::is_page_size(*page_bytes)) return skip();
    capture_.page_bytes = static_cast<uint32_t>(*page_bytes);
    return true;
  }

  bool on_string(std::string_view text) {
    if (has_sized_strings_) {
      Fields fields(text);
      const auto length = fields.hex();
      if (!length || *length > fields.rest().size()) return fail(Fault::kTable);
      text = fields.rest().substr(0, *length);
    }
    return names_->add_string(text) ? true : fail(Fault::kTooLarge);
  }

  bool on_code(std::string_view text) {
    Fields fields(text);
    const auto address = fields.hex();
    const auto module = fields.hex();
    if (!address || !module || *module > names_->string_count()) return fail(Fault::kTable);
    std::vector<NamedFrame> frames;
    while (!fields.at_end()) {
      const auto function = fields.hex();
      const bool is_name_alone = function && fields.at_end();
      const auto file = is_name_alone ? 0 : fields.hex();
      const auto line = is_name_alone ? 0 : fields.hex();
      if (!function || !file || !line || std::max(*function, *file) > names_->string_count() ||
          frames.size() == kMaxInlined) {
        return fail(Fault::kTable);
      }
      frames.push_back({static_cast<uint32_t>(*function), static_cast<uint32_t>(*file),
                        static_cast<uint32_t>(std::min<uint64_t>(*line, UINT32_MAX))});
    }
    const auto code = names_->add_code(*address, static_cast<uint32_t>(*module), frames, tables_);
    if (!code) return fail(Fault::kTooLarge);
    codes_.push_back(*code);
    return true;
  }

  bool on_stack(std::string_view text) {
    Fields fields(text);
    const auto code = fields.hex();
    const auto caller = fields.hex();
    const size_t known = tables_.stacks.size() - wire::kRootCount;
    if (!code || !caller || *code == 0 || *code > codes_.size() || *caller > known) return fail(Fault::kTable);
    if (known == kMaxStacks) return fail(Fault::kTooLarge);
    tables_.stacks.push_back({.parent = stack_of(*caller), .code = codes_[*code - 1]});
    return true;
  }

  bool on_info(std::string_view text) {
    Fields fields(text);
    const auto size = fields.hex();
    const auto stack = fields.hex();
    if (!size || !stack || *size > kMaxSize || *stack > tables_.stacks.size() - wire::kRootCount)
      return fail(Fault::kTable);
    if (infos_.size() == kMaxInfos) return fail(Fault::kTooLarge);
    const model::StackId id = stack_of(*stack);
    if (sites_.size() <= id) sites_.resize(tables_.stacks.size(), kNoSite);
    if (sites_[id] == kNoSite) sites_[id] = add_site(model::EventKind::kAllocate, wire::Function::kNone, id);
    infos_.push_back({*size, sites_[id], {}});
    return true;
  }

  bool on_time(std::string_view text) {
    const auto time_ms = Fields(text).hex();
    if (!time_ms || *time_ms > kMaxMilliseconds) return skip();
    time_ns_ = std::max(time_ns_, *time_ms * kNsPerMs);
    return true;
  }

  // Pages of the process in RAM.
  bool on_resident(std::string_view text) {
    const auto pages = Fields(text).hex();
    const uint64_t page_bytes = capture_.page_bytes;
    if (!pages || page_bytes == 0 || *pages >= model::kMaxResidentBytes / page_bytes) return skip();
    if (resident_.size() == model::kMaxResidentSamples) return true;
    resident_.push_back({.time_ns = time_ns_, .anonymous_bytes = *pages * page_bytes, .has_kinds = false});
    return true;
  }

  bool on_allocation(std::string_view text) {
    const auto info = Fields(text).hex();
    if (!info || *info >= infos_.size()) return lose_event();
    if (live_blocks_ == kMaxLiveBlocks) return fail(Fault::kTooLarge);
    ++live_blocks_;
    infos_[*info].live.push_back(next_block_++);
    add_event({.site = infos_[*info].site, .thread = kThread, .size_or_block = infos_[*info].size_bytes, .address = 0});
    last_allocated_ = *info;
    return true;
  }

  // The file records that a block of this size and stack was released, not which one: all counts, by size, by stack and
  // by time, are the same for any of them. The newest one is assumed, as heaptrack does for temporary allocations;
  // lifetimes are unknown.
  bool on_release(std::string_view text) {
    const auto info = Fields(text).hex();
    if (!info || *info >= infos_.size()) return lose_event();
    const bool is_temporary = std::exchange(last_allocated_, kNoInfo) == *info;
    model::BlockNumber block = model::kUnknownBlock;
    if (std::vector<model::BlockNumber>& live = infos_[*info].live; !live.empty()) {
      block = live.back();
      live.pop_back();
      --live_blocks_;
    } else {
      batch_.bad_releases.push_back({.event = static_cast<uint32_t>(batch_.events.size()),
                                     .kind = model::BadReleaseKind::kUnknown,
                                     .address = 0,
                                     .block_size = 0,
                                     .allocated_at = 0,
                                     .first_released_at = 0,
                                     .block_known = false});
    }
    add_event({.site = release_site_,
               .thread = is_temporary ? kThread : kLaterReleases,
               .size_or_block = block,
               .address = 0});
    return true;
  }

  static model::StackId stack_of(uint64_t number) {
    return number == 0 ? static_cast<model::StackId>(wire::StackEnd::kComplete)
                       : static_cast<model::StackId>(wire::kRootCount + number - 1);
  }

  model::SiteId add_site(model::EventKind kind, wire::Function function, model::StackId stack) {
    tables_.sites.push_back({.kind = kind, .function = function, .stack = stack});
    return static_cast<model::SiteId>(tables_.sites.size() - 1);
  }

  void add_event(const model::Event& event) {
    constexpr size_t kBatchEvents = 8192;
    if (batch_.time_marks.empty() || batch_.time_marks.back().time_ns != time_ns_)
      batch_.time_marks.push_back({static_cast<uint32_t>(batch_.events.size()), time_ns_});
    batch_.events.push_back(event);
    ++events_;
    if (batch_.events.size() == kBatchEvents) hand_on();
  }

  void hand_on() {
    if (sink_ != nullptr && !batch_.events.empty()) sink_->on_batch(batch_, tables_);
    batch_ = {};
    batch_.first_block = next_block_;
  }

  static constexpr model::SiteId kNoSite = ~model::SiteId{0};

  struct Info {
    uint64_t size_bytes = 0;
    model::SiteId site = 0;
    std::vector<model::BlockNumber> live;  // in order
  };

  TextFile& file_;
  model::Capture& capture_;
  model::Tables& tables_;
  std::vector<model::ResidentSample>& resident_;
  model::EventSink* sink_;
  std::shared_ptr<NameTable> names_;
  bool has_sized_strings_;
  std::vector<model::CodeId> codes_;  // by number of an `i`
  std::vector<model::SiteId> sites_;  // by stack
  std::vector<Info> infos_;
  model::SiteId release_site_ = 0;
  model::EventBatch batch_;
  model::BlockNumber next_block_ = 1;
  uint64_t live_blocks_ = 0;
  uint64_t last_allocated_ = kNoInfo;
  uint64_t time_ns_ = 0;
  uint64_t events_ = 0;
  uint64_t lost_events_ = 0;
  uint64_t skipped_lines_ = 0;
  Fault fault_ = Fault::kNone;
  bool is_raw_ = false;
};

class HeaptrackSource : public model::UnscannedSource {
 public:
  explicit HeaptrackSource(std::string path) : path_(std::move(path)) {}

  base::Result<> read_head() {
    auto file = TextFile::open(path_);
    if (!file) return std::unexpected(std::move(file).error());
    const auto format = format_of(*file);
    if (!format) return std::unexpected(format.error());
    reset(*file);
    model::Tables tables;
    Pass pass(*file, *format, capture_, tables, resident_, nullptr);
    pass.read_head();
    if (pass.is_raw()) {
      return base::fail("'{}' is heaptrack's raw data, without names: heaptrack_interpret makes a data file of it",
                        path_);
    }
    return {};
  }

  base::Result<> replay(model::EventSink& sink, const model::ReplayOptions& options) override {
    auto file = TextFile::open(path_);
    if (!file) return std::unexpected(std::move(file).error());
    const auto format = format_of(*file);
    if (!format) return std::unexpected(format.error());
    reset(*file);
    Pass(*file, *format, capture_, tables_, resident_, options.events ? &sink : nullptr).read_all(options);
    return {};
  }

  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const model::Tables& tables() const override { return tables_; }
  [[nodiscard]] const std::vector<model::ResidentSample>& resident() const override { return resident_; }

 private:
  void reset(const TextFile& file) {
    tables_ = {};
    capture_ = {};
    resident_.clear();
    capture_.via = "heaptrack";
    capture_.time_resolution_ns = kNsPerMs;
    capture_.trace_bytes = file.file_bytes();
    capture_.import = {
        .tool = "heaptrack",
        .not_recorded = model::kNotRecordedThreads | model::kNotRecordedLifetimes | model::kNotRecordedReleaseErrors};
  }

  // By its first line.
  base::Result<uint64_t> format_of(TextFile& file) const {
    const auto line = file.next();
    const auto versions = line ? versions_of(*line) : std::nullopt;
    if (!versions) return base::fail("'{}' is not a data file of heaptrack: it doesn't begin with its version", path_);
    if (versions->format > kNewestFormat) {
      return base::fail(
          "'{}' was written by a newer heaptrack (file format {}, this heaptap reads {} to {}): update heaptap", path_,
          versions->format, kOldestFormat, kNewestFormat);
    }
    if (versions->format < kOldestFormat) {
      return base::fail(
          "'{}' was written by a heaptrack before 1.0 (file format {}, this heaptap reads {} to {}): "
          "record the program again",
          path_, versions->format, kOldestFormat, kNewestFormat);
    }
    return versions->format;
  }

  std::string path_;
  model::Capture capture_;
  model::Tables tables_;
  std::vector<model::ResidentSample> resident_;
};

}  // namespace

bool is_heaptrack(std::string_view first_line) { return versions_of(first_line).has_value(); }

base::Result<std::unique_ptr<model::EventSource>> open_heaptrack(const std::string& path) {
  auto source = std::make_unique<HeaptrackSource>(path);
  HEAPTAP_TRY(source->read_head());
  return source;
}

}  // namespace heaptap::imports
