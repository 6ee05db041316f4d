#include "views/exports/memlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/safe_text.h"
#include "views/exports/block_events.h"
#include "views/exports/frame_text.h"

namespace heaptap::exports {
namespace {

std::string lines_of(const report::Report& report, const report::StackEntry& stack) {
  std::string text = fmt::format("\t{}\n", base::safe_text(stack.function));
  for (const model::Frame& frame : report.list(stack.frames)) {
    text += fmt::format("\t{} ({})\n", name_of(frame), frame.module.empty() ? "unknown" : module_of(frame));
  }
  return text;
}

std::string head_line(uint64_t outstanding, uint64_t change) {
  return fmt::format("{} ({:+})\n", static_cast<int64_t>(outstanding), static_cast<int64_t>(change));
}

// Mappings aren't outstanding.
uint64_t outstanding_of(const report::StackCount& stack) { return stack.mapping ? 0 : stack.live_bytes.counted(); }

// Live bytes of stacks, and the part already written. Sums wrap around: sizes in a trace can be arbitrary.
class HeldByStack {
 public:
  explicit HeldByStack(const report::Report& report) : report_(report), places_(report.stacks.size()) {}

  // The changes listed in a file, up to the first line of another format.
  void add_written(std::string_view text);
  // Adds to the live bytes of the stack at this index of the report.
  void add(size_t place, uint64_t bytes) {
    Entry*& entry = places_[place];
    if (entry == nullptr) entry = entry_of(lines_of(report_, report_.stacks[place]));
    entry->second.now += bytes;
    now_ += bytes;
    note_change(*entry);
  }
  void write_changes(const report::Write& write);

 private:
  struct Held {
    uint64_t now = 0;
    uint64_t written = 0;
    bool changed = false;
  };
  // By the lines of a stack's frames, which identify the stack in other reports of the process.
  using Stacks = std::map<std::string, Held>;
  using Entry = Stacks::value_type;

  static int64_t change_of(const Entry& entry) { return static_cast<int64_t>(entry.second.now - entry.second.written); }
  Entry* entry_of(std::string lines) { return &*stacks_.try_emplace(std::move(lines)).first; }
  void note_change(Entry& entry) {
    if (!std::exchange(entry.second.changed, true)) changed_.push_back(&entry);
  }

  const report::Report& report_;
  Stacks stacks_;
  std::vector<Entry*> places_;   // by index in the report; null: not requested yet
  std::vector<Entry*> changed_;  // since the last file
  uint64_t now_ = 0;
  uint64_t written_ = 0;
};

void HeldByStack::add_written(std::string_view text) {
  const auto take_line = [&text] {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    return line;
  };
  if (!text.empty()) take_line();
  while (!text.empty()) {
    std::string_view line = take_line();
    if (line.starts_with('+')) line.remove_prefix(1);
    int64_t change = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), change).ec != std::errc()) return;
    std::string lines;
    while (text.starts_with('\t')) lines += take_line();
    Entry& entry = *entry_of(std::move(lines));
    entry.second.written += static_cast<uint64_t>(change);
    written_ += static_cast<uint64_t>(change);
    note_change(entry);
  }
}

void HeldByStack::write_changes(const report::Write& write) {
  std::erase_if(changed_, [](Entry* entry) {
    entry->second.changed = change_of(*entry) != 0;
    return !entry->second.changed;
  });
  std::ranges::sort(changed_, [](const Entry* one, const Entry* other) {
    const int64_t change = change_of(*one);
    const int64_t others = change_of(*other);
    return change != others ? change > others : one->first < other->first;
  });
  write(head_line(now_, now_ - written_));
  for (Entry* const entry : changed_) {
    write(fmt::format("{:+}\n{}", change_of(*entry), entry->first));
    entry->second.written = entry->second.now;
    entry->second.changed = false;
  }
  changed_.clear();
  written_ = now_;
}

// Writer of one file at the end of each moment.
class Series : public BlockEvents {
 public:
  Series(HeldByStack& held, std::span<const uint64_t> moments_ns, NumberedOutput& output)
      : held_(held), moments_ns_(moments_ns), output_(output) {}

  void on_allocation(const LiveBlock& block) override {
    write_before(block.allocated_at_ns);
    held_.add(block.stack, block.size_bytes);
  }
  void on_release(const LiveBlock& block, uint64_t time_ns) override {
    write_before(time_ns);
    held_.add(block.stack, -block.size_bytes);
  }
  // Moments after the last event.
  base::Result<> finish() {
    while (!moments_ns_.empty() && written_) write_next();
    return written_;
  }

 private:
  void write_before(uint64_t time_ns) {
    while (!moments_ns_.empty() && moments_ns_.front() < time_ns && written_) write_next();
  }
  void write_next() {
    moments_ns_ = moments_ns_.subspan(1);
    written_ = output_.write_next([this](const report::Write& write) { held_.write_changes(write); });
  }

  HeldByStack& held_;
  std::span<const uint64_t> moments_ns_;
  NumberedOutput& output_;
  base::Result<> written_;
};

void add_live_bytes(const report::Report& report, HeldByStack& held) {
  for (size_t place = 0; place < report.stacks.size(); ++place) {
    const report::StackEntry& stack = report.stacks[place];
    const uint64_t live_bytes = stack.live_bytes.counted();
    if (!stack.is_apart() && live_bytes != 0) held.add(place, live_bytes);
  }
}

}  // namespace

base::Result<> check_memlog(const report::Report& report) {
  if (report.totals.live_bytes.is_known()) return {};
  return base::fail("live blocks are not known for this trace");
}

std::string memlog_name(const report::Report& report) {
  const model::Capture& capture = report.capture;
  const std::string path = capture.command.empty() ? capture.executable : capture.command.front();
  std::string name = base::safe_text(path.substr(path.rfind('/') + 1));
  constexpr size_t kMaxName = 100;  // a file's may have 255 bytes
  if (name.size() > kMaxName) name.resize(kMaxName);
  return fmt::format("{}-{}-", name.empty() ? "unknown" : name, capture.pid);
}

base::Result<> write_memlog_series(const Input& input, std::span<const uint64_t> moments_ns, NumberedOutput& output) {
  HEAPTAP_TRY(check_memlog(input.report));
  HeldByStack held(input.report);
  HEAPTAP_TRY(output.read_earlier([&held](std::string_view text) { held.add_written(text); }));
  if (moments_ns.empty()) {
    add_live_bytes(input.report, held);
    return output.write_next([&held](const report::Write& write) { held.write_changes(write); });
  }
  Series series(held, moments_ns, output);
  HEAPTAP_TRY(replay_blocks(input, series));
  return series.finish();
}

base::Result<> write_memlog(const report::Report& report, const report::Write& write) {
  HEAPTAP_TRY(check_memlog(report));
  HeldByStack held(report);
  add_live_bytes(report, held);
  held.write_changes(write);
  return {};
}

int64_t MemlogChanges::change_of(const report::Report& counts, uint64_t id) const {
  const uint64_t written = id <= written_.size() ? written_[id - 1] : 0;
  return static_cast<int64_t>(outstanding_of(counts.counts[id - 1]) - written);
}

std::vector<uint64_t> MemlogChanges::changed(const report::Report& counts) const {
  std::vector<uint64_t> ids;
  for (uint64_t id = 1; id <= counts.counts.size(); ++id) {
    if (change_of(counts, id) != 0) ids.push_back(id);
  }
  return ids;
}

void MemlogChanges::write(const report::Report& counts, const report::Report& named, const report::Write& write) const {
  uint64_t outstanding = 0;
  uint64_t before = 0;
  for (const report::StackCount& stack : counts.counts) outstanding += outstanding_of(stack);
  for (const uint64_t bytes : written_) before += bytes;
  // Stacks with the same text are merged.
  std::map<std::string, int64_t> by_lines;
  for (const report::StackEntry& stack : named.stacks) by_lines[lines_of(named, stack)] += change_of(counts, stack.id);
  std::erase_if(by_lines, [](const auto& entry) { return entry.second == 0; });
  std::vector<const std::pair<const std::string, int64_t>*> sorted;
  for (const auto& entry : by_lines) sorted.push_back(&entry);
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto* entry) { return entry->second; });
  write(head_line(outstanding, outstanding - before));
  for (const auto* const entry : sorted) write(fmt::format("{:+}\n{}", entry->second, entry->first));
}

void MemlogChanges::take_as_written(const report::Report& counts) {
  written_.clear();
  for (const report::StackCount& stack : counts.counts) written_.push_back(outstanding_of(stack));
}

}  // namespace heaptap::exports
