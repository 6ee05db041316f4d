// Common parts of the text views.
#pragma once
#include <string>

#include "analysis/report/render.h"
#include "analysis/report/text_table.h"

namespace heaptap::report {

struct TextContext {
  const Report& report;
  const RenderOptions& options;
  Ink ink;
  FrameText text;  // of frames
  [[nodiscard]] size_t rows(size_t by_default) const { return options.limit != 0 ? options.limit : by_default; }
};

inline constexpr size_t kMaxFrames = 255;
inline constexpr size_t kNameWidth = 72;

// "./app --flag: exited with 0 after 3.2 s, recorded with the agent (pid 12, x86_64)"
std::string title_of(const TextContext& context);
// "3.2 s"; of another tool's file in its own unit of time.
std::string moment_text(const model::Capture& capture, uint64_t time_ns);
// Whether moment_text() of its peak is meaningful.
bool is_peak_placed(const Report& report);
// " (pid 12)"; empty if unknown.
std::string process_of(const model::Capture& capture);
// "app" for a program started as /usr/bin/app.
std::string program_of(const model::Capture& capture);
// Whether contact to the program's machine was lost, so that its further course is unknown.
bool lost_sight_of(const model::Capture& capture);
std::string exit_text(const model::Capture& capture);

// Data missing because the recording started late; empty: none.
std::string late_start_of(const Report& report);

// Uncertain verdicts and the reasons; empty: none.
std::string uncertainty_of(const Report& report);

// Warnings about missing data, and hints; empty: none.
std::string remarks_of(const TextContext& context);

// Why a truncated trace is incomplete.
std::string incomplete_text(const model::Capture& capture);

// "make_buffer(int)  app.cpp:12 (inlined)", indented by `indent`.
std::string frame_line(const TextContext& context, const model::Frame& frame, size_t indent);

// Frames of a stack, one per line, indented; without those below main() unless requested.
std::string frames_text(const TextContext& context, const StackEntry& stack);
std::string frames_text(const TextContext& context, const FrameList& frames);

// "malloc", "operator new (nothrow)".
std::string function_text(const std::string& function, const std::string& variant);

// The text, or "unknown".
inline std::string or_unknown(bool is_known, const std::string& text) { return is_known ? text : "unknown"; }

// Message in place of a view that a totals-only trace has no data for.
std::string text_not_kept(const TextContext& context, const char* what);

// "12.5%"; "-" if `whole` is 0.
std::string percent(uint64_t part, uint64_t whole);

// Line of totals: name, value, remark.
std::string row_text(const char* name, const std::string& value, const std::string& rest);

// The report's stacks, at most `most`, each written by `text_of`; then the number of further ones.
std::string stacks_text(const TextContext& context, size_t most,
                        std::string (*text_of)(const TextContext&, const StackEntry&));

// Totals of the leak scan; empty: none was made.
std::string leak_totals_text(const TextContext& context);

// "1 block", "2 blocks".
std::string counted(uint64_t count, const char* noun);
// With sign: "+1.2 MiB", "-3 blocks".
std::string signed_bytes(int64_t bytes);
std::string signed_count(int64_t count, const char* noun);

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
std::string text_errors(const TextContext& context);
// Views of a run.
std::string text_processes(const TextContext& context);
std::string text_programs(const TextContext& context);
// Table by tags or pools; `title`: of the name column.
std::string text_labels(const TextContext& context, const char* title);
std::string processes_text(const TextContext& context);  // the table alone

}  // namespace heaptap::report
