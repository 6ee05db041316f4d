#include "analysis/imports/massif.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/imports/command_words.h"
#include "analysis/imports/massif_file.h"
#include "analysis/imports/massif_stacks.h"
#include "common/model/unscanned_source.h"

namespace heaptap::imports {
namespace {

constexpr uint64_t kNsPerMassifTime = 1'000'000;
constexpr model::ThreadId kMassifThread = 1;  // massif has none

// Counts and maxima over all snapshots, from a first pass.
struct Survey {
  uint64_t snapshots = 0;
  uint64_t with_tree = 0;
  uint64_t peak_bytes = 0;     // maximum over snapshots with a tree
  bool has_peak = false;       // massif's peak
  uint64_t highest_bytes = 0;  // maximum over all snapshots
  uint64_t extra_bytes = 0;    // at most
  uint64_t stacks_bytes = 0;
  uint64_t last_time = 0;
  bool of_pages = false;  // --pages-as-heap
};

bool is_of_pages(const MassifSnapshot& snapshot) {
  return !snapshot.nodes.empty() && snapshot.nodes.front().label.starts_with("(page allocation syscalls)");
}

Survey survey_of(MassifFile& file) {
  Survey survey;
  while (const auto snapshot = file.next()) {
    ++survey.snapshots;
    survey.highest_bytes = std::max(survey.highest_bytes, snapshot->heap_bytes);
    survey.extra_bytes = std::max(survey.extra_bytes, snapshot->extra_bytes);
    survey.stacks_bytes = std::max(survey.stacks_bytes, snapshot->stacks_bytes);
    survey.last_time = std::max(survey.last_time, snapshot->time);
    survey.of_pages = survey.of_pages || is_of_pages(*snapshot);
    if (snapshot->nodes.empty()) continue;
    ++survey.with_tree;
    survey.has_peak = survey.has_peak || snapshot->is_peak;
    survey.peak_bytes = std::max(survey.peak_bytes, snapshot->heap_bytes);
  }
  return survey;
}

// massif makes the tree of its peak when memory has shrunk by a small part (--peak-inaccuracy: 1 %), so a snapshot
// without a tree may be a little higher. It would be the peak, with unknown stacks.
bool hides_peak(const MassifSnapshot& snapshot, const Survey& survey) {
  constexpr uint64_t kNear = 20;  // a 20th: 5 %
  return snapshot.nodes.empty() && survey.has_peak && snapshot.heap_bytes >= survey.peak_bytes &&
         snapshot.heap_bytes <= survey.peak_bytes + survey.peak_bytes / kNear;
}

// Events from the differences between consecutive snapshots.
class Differences {
 public:
  Differences(model::Tables& tables, model::EventSink* sink) : tables_(tables), sink_(sink), stacks_(tables) {
    release_site_ = add_site(model::EventKind::kRelease, wire::Function::kFreeOrDelete, 0);
  }

  // False: more than heaptap keeps.
  bool add(const MassifSnapshot& snapshot, uint64_t time_ns) {
    auto wanted = bytes_of(snapshot);
    if (!wanted) return false;
    batch_ = {};
    batch_.first_block = next_block_;
    batch_.time_marks.push_back({0, time_ns});
    // Releases first, so that no sum in between exceeds both.
    std::erase_if(held_, [&](const auto& entry) {
      const auto found = wanted->find(entry.first);
      const bool is_less = found == wanted->end() || found->second < entry.second.bytes;
      if (is_less) release(entry.second);
      return is_less;
    });
    for (const auto& [stack, bytes] : *wanted) {
      Held& held = held_[stack];
      if (bytes > held.bytes) allocate(stack, held, bytes - held.bytes);
    }
    if (sink_ != nullptr && !batch_.events.empty()) sink_->on_batch(batch_, tables_);
    return true;
  }

  [[nodiscard]] uint64_t unclear_trees() const { return unclear_trees_; }

 private:
  struct Held {
    uint64_t bytes = 0;
    std::vector<model::BlockNumber> blocks;
  };

  std::optional<BytesByStack> bytes_of(const MassifSnapshot& snapshot) {
    if (!snapshot.nodes.empty()) {
      // The tree's own sum equals the snapshot's; otherwise one of them is wrong.
      auto bytes = snapshot.nodes.front().bytes == snapshot.heap_bytes ? stacks_.stacks_of(snapshot) : std::nullopt;
      if (bytes) return bytes;
      ++unclear_trees_;
    }
    const auto unknown = stacks_.not_detailed();
    if (!unknown) return std::nullopt;
    BytesByStack bytes;
    if (snapshot.heap_bytes != 0) bytes.emplace(*unknown, snapshot.heap_bytes);
    return bytes;
  }

  void release(const Held& held) {
    for (const model::BlockNumber block : held.blocks)
      batch_.events.push_back({.site = release_site_, .thread = kMassifThread, .size_or_block = block, .address = 0});
  }

  void allocate(model::StackId stack, Held& held, uint64_t bytes) {
    const auto [site, is_new] = sites_.try_emplace(stack);
    if (is_new) site->second = add_site(model::EventKind::kAllocate, wire::Function::kNone, stack);
    held.blocks.push_back(next_block_++);
    held.bytes += bytes;
    batch_.events.push_back({.site = site->second, .thread = kMassifThread, .size_or_block = bytes, .address = 0});
  }

  model::SiteId add_site(model::EventKind kind, wire::Function function, model::StackId stack) {
    tables_.sites.push_back({.kind = kind, .function = function, .stack = stack});
    return static_cast<model::SiteId>(tables_.sites.size() - 1);
  }

  model::Tables& tables_;
  model::EventSink* sink_;
  MassifStacks stacks_;
  std::map<model::StackId, Held> held_;  // of stacks with live bytes
  boost::unordered_flat_map<model::StackId, model::SiteId> sites_;
  model::SiteId release_site_ = 0;
  model::EventBatch batch_;
  model::BlockNumber next_block_ = 1;
  uint64_t unclear_trees_ = 0;
};

class MassifSource : public model::UnscannedSource {
 public:
  explicit MassifSource(std::string path) : path_(std::move(path)) {}

  base::Result<> survey() {
    auto file = MassifFile::open(path_);
    if (!file) return std::unexpected(std::move(file).error());
    survey_ = survey_of(*file);
    if (survey_.snapshots == 0) {
      return base::fail(
          "'{}' has no snapshot of massif: the program ended before valgrind could write one, or the file "
          "is cut off; run it under massif again",
          path_);
    }
    return take_facts(*file);
  }

  base::Result<> replay(model::EventSink& sink, const model::ReplayOptions& options) override {
    auto file = MassifFile::open(path_);
    if (!file) return std::unexpected(std::move(file).error());
    HEAPTAP_TRY(take_facts(*file));
    tables_ = {};
    Differences differences(tables_, options.events ? &sink : nullptr);
    for (uint64_t number = 1; const auto snapshot = file->next(); ++number) {
      if (options.progress) options.progress(file->text().read_bytes(), file->text().file_bytes());
      // The last one has the memory live at the end.
      if (number != survey_.snapshots && hides_peak(*snapshot, survey_)) continue;
      if (!differences.add(*snapshot, time_of(*snapshot)))
        return base::fail("'{}' has more stacks than heaptap reads from one file", path_);
    }
    capture_.damage = file->damage();
    capture_.truncated = !capture_.damage.empty();
    capture_.ended = !capture_.truncated;
    add_notes(file->skipped_lines(), differences.unclear_trees());
    return {};
  }

  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const model::Tables& tables() const override { return tables_; }

 private:
  [[nodiscard]] uint64_t time_of(uint64_t time) const {
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    return !capture_.import.has_times() ? time : time > kMax / kNsPerMassifTime ? kMax : time * kNsPerMassifTime;
  }
  [[nodiscard]] uint64_t time_of(const MassifSnapshot& snapshot) const { return time_of(snapshot.time); }

  base::Result<> take_facts(const MassifFile& file) {
    capture_ = {};
    capture_.via = "massif";
    capture_.command = words_of_command(file.facts().command);
    capture_.trace_bytes = file.text().file_bytes();
    capture_.import = {.tool = "massif",
                       .not_recorded = model::kNotRecordedThreads | model::kNotRecordedLifetimes |
                                       model::kNotRecordedReleaseErrors | model::kNotRecordedCounts};
    const std::string& unit = file.facts().time_unit;
    if (unit != "i" && unit != "ms" && unit != "B") {
      return base::fail(
          "'{}' measures time in '{}', which this heaptap doesn't know: massif wrote i, ms and B when it was "
          "made; update heaptap",
          path_, unit);
    }
    capture_.import.unit = unit == "i"   ? model::TimeUnit::kInstructions
                           : unit == "B" ? model::TimeUnit::kAllocatedBytes
                                         : model::TimeUnit::kNanoseconds;
    capture_.time_resolution_ns = capture_.import.has_times() ? kNsPerMassifTime : 1;
    capture_.duration_ns = time_of(survey_.last_time);
    return {};
  }

  void add_notes(uint64_t skipped_lines, uint64_t unclear_trees) {
    using model::NoteKind;
    const auto add = [this](bool is_so, NoteKind kind, std::vector<uint64_t> numbers) {
      if (is_so) capture_.notes.push_back({.kind = kind, .numbers = std::move(numbers)});
    };
    add(true, NoteKind::kImportedMassif, {survey_.snapshots, survey_.with_tree});
    add(survey_.of_pages, NoteKind::kImportedPages, {});
    const bool is_hidden = survey_.has_peak && survey_.highest_bytes > survey_.peak_bytes;
    add(is_hidden, NoteKind::kImportedPeak, {survey_.peak_bytes, survey_.highest_bytes});
    add(survey_.extra_bytes != 0, NoteKind::kImportedExtra, {survey_.extra_bytes});
    add(survey_.stacks_bytes != 0, NoteKind::kImportedStacks, {survey_.stacks_bytes});
    add(unclear_trees != 0, NoteKind::kImportedTrees, {unclear_trees});
    add(skipped_lines != 0, NoteKind::kImportedLinesSkipped, {skipped_lines});
  }

  std::string path_;
  Survey survey_;
  model::Capture capture_;
  model::Tables tables_;
};

}  // namespace

base::Result<std::unique_ptr<model::EventSource>> open_massif(const std::string& path) {
  auto source = std::make_unique<MassifSource>(path);
  HEAPTAP_TRY(source->survey());
  return source;
}

}  // namespace heaptap::imports
