// SQLite database of the report: stacks with their frames, bad releases, threads, the timeline, resident memory and single blocks. NULL is "unknown".
// docs/howto/ci-formats.md has sample queries.
#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <span>
#include <string>

#include "analysis/findings/note_text.h"
#include "analysis/findings/words.h"
#include "analysis/report/label_sums.h"
#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/frame_text.h"

namespace heaptap::exports {
namespace {

constexpr const char* kSchema = R"(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
BEGIN;
CREATE TABLE meta (key TEXT PRIMARY KEY, value);
CREATE TABLE frames (id INTEGER PRIMARY KEY, function TEXT, module TEXT, offset INTEGER, address INTEGER, file TEXT,
                     line INTEGER, inlined INTEGER);
CREATE TABLE stacks (id INTEGER PRIMARY KEY, function TEXT, variant TEXT, mapping INTEGER, allocations INTEGER, frees INTEGER,
                     allocated_bytes INTEGER, live_blocks INTEGER, live_bytes INTEGER, peak_bytes INTEGER,
                     temporary_allocations INTEGER, definite_blocks INTEGER, definite_bytes INTEGER, indirect_blocks INTEGER,
                     indirect_bytes INTEGER, possible_blocks INTEGER, possible_bytes INTEGER, ends_early TEXT, pooled INTEGER, pool TEXT, tags TEXT,
                     reserved_bytes INTEGER);
CREATE TABLE stack_frames (stack INTEGER, position INTEGER, frame INTEGER, PRIMARY KEY (stack, position)) WITHOUT ROWID;
CREATE TABLE errors (id INTEGER PRIMARY KEY, kind TEXT, function TEXT, variant TEXT, address INTEGER, count INTEGER,
                     allocated_by TEXT, allocated_bytes INTEGER, first_freed_by TEXT);
CREATE TABLE error_frames (error INTEGER, part TEXT, position INTEGER, frame INTEGER, PRIMARY KEY (error, part, position))
  WITHOUT ROWID;
CREATE TABLE threads (number INTEGER PRIMARY KEY, kernel_id INTEGER, name TEXT, allocations INTEGER, frees INTEGER,
                      allocated_bytes INTEGER);
CREATE TABLE timeline (time_ns INTEGER, live_bytes INTEGER, live_blocks INTEGER, peak_live_bytes INTEGER, allocations INTEGER,
                       frees INTEGER, mapped_bytes INTEGER, mapped_memory_bytes INTEGER);
CREATE TABLE resident (time_ns INTEGER, anonymous_bytes INTEGER, file_bytes INTEGER, shared_bytes INTEGER, swapped_bytes INTEGER,
                       log_bytes INTEGER);
CREATE TABLE blocks (number INTEGER PRIMARY KEY, address INTEGER, size INTEGER, allocated_at_ns INTEGER, thread INTEGER,
                     stack INTEGER, function TEXT);
CREATE TABLE notes (kind TEXT, module TEXT, name TEXT, count INTEGER, text TEXT);
CREATE VIEW callers AS SELECT s.stack, s.position, f.function, f.file, f.line, f.module
  FROM stack_frames s JOIN frames f ON f.id = s.frame ORDER BY s.stack, s.position;
CREATE VIEW leaks AS SELECT id AS stack, function, definite_blocks + indirect_blocks AS blocks,
  definite_bytes + indirect_bytes AS bytes FROM stacks WHERE definite_blocks + indirect_blocks > 0 ORDER BY bytes DESC, id;
)";

// Row inserter of one table. The first error is kept and returned by `Database::finish`.
class Row {
 public:
  Row(sqlite3* database, const std::string& table, int columns) {
    std::string text = "INSERT INTO " + table + " VALUES (?";
    for (int column = 1; column < columns; ++column) text += ",?";
    failed_ = sqlite3_prepare_v2(database, (text + ")").c_str(), -1, &statement_, nullptr) != SQLITE_OK;
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() { sqlite3_finalize(statement_); }

  Row& number(uint64_t value) {
    return check(sqlite3_bind_int64(statement_, ++column_, static_cast<sqlite3_int64>(value)));
  }
  Row& number(bool is_known, uint64_t value) { return is_known ? number(value) : null(); }
  Row& number(const base::Known<uint64_t>& value) { return number(value.is_known(), value.counted()); }
  Row& null() { return check(sqlite3_bind_null(statement_, ++column_)); }
  Row& text(const std::string& value) {
    const std::string safe = base::safe_text(value);
    return check(sqlite3_bind_text64(statement_, ++column_, safe.data(), safe.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  Row& text_if_any(const std::string& value) { return value.empty() ? null() : text(value); }
  void add() {
    failed_ = failed_ || sqlite3_step(statement_) != SQLITE_DONE;
    sqlite3_reset(statement_);
    column_ = 0;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Row& check(int status) {
    failed_ = failed_ || status != SQLITE_OK;
    return *this;
  }

  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
  bool failed_ = false;
};

class Tables {
 public:
  Tables(sqlite3* database, const Input& input) : database_(database), report_(input.report) {
    if (input.trace != nullptr) resident_ = input.trace->resident();
  }

  // All of them; false where one couldn't be written.
  bool write() {
    write_meta();
    write_frames();
    write_stacks();
    write_errors();
    write_threads();
    write_timeline();
    write_resident();
    write_blocks();
    write_notes();
    return !failed_;
  }

 private:
  void finish(const Row& row) { failed_ = failed_ || row.failed(); }

  void write_meta() {
    Row row(database_, "meta", 2);
    const report::Totals& totals = report_.totals;
    const model::Capture& capture = report_.capture;
    const auto number = [&row](const char* key, bool is_known, uint64_t value) {
      row.text(key).number(is_known, value).add();
    };
    row.text("command").text(command_of(capture)).add();
    row.text("heaptap_version").text(capture.heaptap_version).add();
    number("pid", capture.import.tool.empty(), capture.pid);
    number("lost_events", true, capture.lost_events);
    if (capture.sample_interval != 0) number("sample_interval_bytes", true, capture.sample_interval);
    number("truncated", true, capture.truncated ? 1 : 0);
    number("leaks_known", true, report_.known.leaks && report_.leaks.scanned ? 1 : 0);
    number("releases_known", true, report_.known.releases ? 1 : 0);
    const auto figure = [&row](const char* key, const base::Known<uint64_t>& value) {
      row.text(key).number(value).add();
    };
    figure("allocations", totals.allocations);
    figure("frees", totals.releases);
    figure("allocated_bytes", totals.allocated_bytes);
    figure("live_blocks", totals.live_blocks);
    figure("live_bytes", totals.live_bytes);
    figure("peak_live_bytes", totals.peak_live_bytes);
    figure("peak_error_bytes", {totals.peak_error_bytes, totals.peak_live_bytes.is_known()});
    figure("double_frees", totals.double_releases);
    figure("bad_frees", totals.bad_releases);
    figure("mismatched_frees", totals.mismatched_releases);
    finish(row);
  }

  void write_frames() {
    Row row(database_, "frames", 8);
    for (size_t id = 0; id < report_.frames.size(); ++id) {
      const model::Frame& frame = report_.frames[id];
      row.number(id).text_if_any(frame.function).text_if_any(frame.module).number(!frame.module.empty(), frame.offset);
      row.number(frame.address)
          .text_if_any(frame.file)
          .number(frame.line != 0, frame.line)
          .number(frame.inlined ? 1 : 0);
      row.add();
    }
    finish(row);
  }

  void write_stacks() {
    Row row(database_, "stacks", 22);
    Row frames(database_, "stack_frames", 3);
    for (const report::StackEntry& stack : report_.stacks) {
      row.number(stack.id).text(stack.function).text(stack.variant).number(stack.mapping ? 1 : 0);
      row.number(stack.allocations).number(stack.releases).number(stack.allocated_bytes);
      row.number(stack.live_blocks).number(stack.live_bytes).number(stack.peak_bytes);
      row.number(stack.temporary_allocations);
      const bool scanned = bool(stack.leaks);
      const report::StackLeaks& leaks = *stack.leaks;
      for (const report::BlockCount& count : {leaks.definite, leaks.indirect, leaks.possible})
        row.number(scanned, count.blocks).number(scanned, count.bytes);
      row.text_if_any(findings::ending_of(stack)).number(stack.pooled ? 1 : 0);
      row.text_if_any(stack.rare->pool).text_if_any(report::path_of_tags(stack.rare->tags));
      row.number(stack.reserved_bytes()).add();
      uint64_t position = 0;
      for (const report::FrameIndex frame : report_.frames.indices(stack.frames))
        frames.number(stack.id).number(position++).number(frame).add();
    }
    finish(row);
    finish(frames);
  }

  void write_errors() {
    Row row(database_, "errors", 9);
    Row frames(database_, "error_frames", 4);
    for (size_t id = 1; id <= report_.errors.size(); ++id) {
      const report::ErrorEntry& error = report_.errors[id - 1];
      const auto& allocated = error.allocated;
      row.number(id)
          .text(error.kind)
          .text(error.function)
          .text(error.variant)
          .number(error.address != 0, error.address);
      row.number(error.count).text_if_any(allocated ? allocated->function : "");
      row.number(allocated.has_value(), allocated ? allocated->size_bytes : 0);
      row.text_if_any(error.released ? error.released->function : "").add();
      const auto add_frames = [&](const char* part, const std::vector<report::FrameIndex>& list) {
        for (size_t position = 0; position < list.size(); ++position)
          frames.number(id).text(part).number(position).number(list[position]).add();
      };
      add_frames("free", error.frames);
      if (allocated) add_frames("allocation", allocated->frames);
      if (error.released) add_frames("first free", error.released->frames);
    }
    finish(row);
    finish(frames);
  }

  void write_threads() {
    Row row(database_, "threads", 6);
    for (const report::ThreadEntry& thread : report::or_none(report_.threads)) {
      row.number(thread.number).number(thread.kernel_id != 0, thread.kernel_id).text_if_any(thread.name);
      row.number(thread.allocations).number(thread.releases).number(thread.allocated_bytes).add();
    }
    finish(row);
  }

  void write_timeline() {
    Row row(database_, "timeline", 8);
    for (const report::TimelinePoint& point : report_.timeline) {
      row.number(report_.capture.import.has_times(), point.time_ns).number(point.live_bytes);
      row.number(point.live_blocks).number(point.peak_live_bytes).number(point.allocations).number(point.releases);
      row.number(point.mapped_bytes).number(point.mapped_memory_bytes).add();
    }
    finish(row);
  }

  // Samples of the process's resident memory; none: unknown, or of several processes.
  void write_resident() {
    Row row(database_, "resident", 6);
    for (const model::ResidentSample& sample : resident_) {
      row.number(sample.time_ns).number(sample.anonymous_bytes);
      row.number(sample.has_kinds, sample.file_bytes).number(sample.has_kinds, sample.shared_bytes);
      row.number(sample.swapped_bytes.has_value(), sample.swapped_bytes.value_or(0));
      row.number(sample.log_bytes.has_value(), sample.log_bytes.value_or(0)).add();
    }
    finish(row);
  }

  void write_blocks() {
    Row row(database_, "blocks", 7);
    for (const report::BlockEntry& block : report::or_none(report_.blocks)) {
      row.number(block.number).number(block.address != 0, block.address).number(block.size_bytes);
      row.number(block.allocated_at_ns).number(block.thread).number(block.stack_id).text(block.function).add();
    }
    finish(row);
  }

  void write_notes() {
    Row row(database_, "notes", 5);
    for (const model::Note& note : report_.capture.notes) {
      row.text(findings::name_of(note.kind)).text_if_any(note.module).text_if_any(note.name);
      row.number(findings::count_of(note)).text(findings::sentence_of(note)).add();
    }
    finish(row);
  }

  sqlite3* database_;
  const report::Report& report_;
  std::span<const model::ResidentSample> resident_;
  bool failed_ = false;
};

}  // namespace

base::Result<> write_sqlite(const Input& input, const std::string& path) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, &sqlite3_close);
  const bool written = status == SQLITE_OK && sqlite3_exec(opened, kSchema, nullptr, nullptr, nullptr) == SQLITE_OK &&
                       Tables(opened, input).write() &&
                       sqlite3_exec(opened, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
  if (!written) return base::fail("can't write the database: {}", sqlite3_errmsg(opened));
  return {};
}

}  // namespace heaptap::exports
