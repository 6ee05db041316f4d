// Common parts of the text views.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "views/text/render_text.h"
#include "views/text/text_table.h"

namespace heaptap::text {

struct TextContext {
  const report::Report& report;
  const RenderOptions& options;
  Ink ink;
  findings::FrameText text;  // of frames
  [[nodiscard]] size_t rows(size_t by_default) const { return options.limit != 0 ? options.limit : by_default; }
};

inline constexpr size_t kMaxFrames = 255;

// "./app --flag: exited with 0 after 3.2 s, recorded with the agent (pid 12, x86_64)"
std::string title_of(const TextContext& context);

// Of several processes: which one bytes at the peak are of; else empty.
std::string peak_process_line(const TextContext& context);
// Warnings about missing data, and hints; empty: none.
std::string remarks_of(const TextContext& context);
// Below a table: how many rows aren't shown; empty: none.
std::string more_rows(const TextContext& context, uint64_t shown, uint64_t all, const char* noun);
// "#12  load app.cc:12 < main app.cc:20", as the last cell of a row, which has room for it below the row.
std::string stack_below(const TextContext& context, const report::StackKeep& stack);

// "make_buffer(int)  app.cpp:12 (inlined)", indented by `indent`.
std::string frame_line(const TextContext& context, const model::Frame& frame, size_t indent);

// Frames of a stack, one per line, indented; runs of library frames are a line each, and those below main() are omitted, unless whole
// stacks are requested.
std::string frames_text(const TextContext& context, const report::StackEntry& stack);
std::string frames_text(const TextContext& context, const report::FrameList& frames);

// The text, or "unknown".
inline std::string or_unknown(bool is_known, const std::string& text) { return is_known ? text : "unknown"; }

// The number as text, or what stands for an unknown one.
inline std::string number_or(const char* unknown, const base::Known<uint64_t>& number,
                             std::string (*text_of)(uint64_t)) {
  return number.is_known() ? text_of(number.counted()) : unknown;
}

// Message in place of a view that a totals-only trace has no data for.
std::string text_not_kept(const TextContext& context, const char* what);

// "12.5%"; "-" if `whole` is 0.
std::string percent(uint64_t part, uint64_t whole);

// Line of totals: name, value, remark.
std::string row_text(const char* name, const std::string& value, const std::string& rest);

// Stacks, each written by `text_of`; then the number of the report's further ones. `apart`: told elsewhere.
std::string stacks_text(const TextContext& context, std::span<const report::StackEntry> stacks, size_t apart,
                        std::string (*text_of)(const TextContext&, const report::StackEntry&));

// The report's stacks for people: those of the program, at most `most`. What libraries keep for themselves is summed up, unless a
// filter asks for it or nothing else is there.
struct ListedStacks {
  std::vector<report::StackEntry> stacks;
  size_t folded = 0;         // those of libraries
  std::string of_libraries;  // "(75.0 KiB in 2 blocks of system libraries: glibc's buffers of files)"; empty: none
};
ListedStacks listed_stacks(const TextContext& context, size_t most);

// Same of stacks whose blocks keep pages resident.
struct ListedKeeps {
  std::vector<report::StackKeep> stacks;
  size_t folded = 0;           // those of libraries
  report::StackKeep sum = {};  // of these; pages may be counted for several
  std::string of_libraries =
      {};  // "71.0 KiB in 1 block of system libraries: libstdc++'s emergency pool for exceptions"
};
ListedKeeps listed_keeps(const TextContext& context, const std::vector<report::StackKeep>& stacks, size_t most);
// Line below the table; `kept`: begins it. Empty: none of libraries.
std::string libraries_line(const TextContext& context, const ListedKeeps& listed, const std::string& kept);

// Totals of the leak scan; empty: none was made.
std::string leak_totals_text(const TextContext& context);

// Views, one each.
std::string text_summary(const TextContext& context);
std::string text_leaks(const TextContext& context);
std::string text_top(const TextContext& context);
std::string text_tree(const TextContext& context);
std::string text_stats(const TextContext& context);
std::string text_sizes(const TextContext& context);
std::string text_lifetimes(const TextContext& context);
std::string text_timeline(const TextContext& context);
std::string text_blocks(const TextContext& context);
std::string text_holders(const TextContext& context);
std::string text_retained(const TextContext& context);
std::string text_globals(const TextContext& context);
std::string text_scans(const TextContext& context);
std::string text_scan_changes(const TextContext& context);
std::string text_fragmentation(const TextContext& context);
std::string text_moment_pages(const TextContext& context, const report::MomentPages& pages);
std::string text_errors(const TextContext& context);
// Views of a run.
std::string text_processes(const TextContext& context);
std::string text_programs(const TextContext& context);
// Table by tags or pools; `title`: of the name column.
std::string text_labels(const TextContext& context, const char* title);
std::string processes_text(const TextContext& context);  // the table alone

}  // namespace heaptap::text
