// List of a comparison's stacks: those whose sort figure changed, merged by allocation site.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/findings/frame_text.h"
#include "analysis/findings/site_rows.h"
#include "analysis/report/comparison.h"

namespace heaptap::findings {

// Stacks with a common site and state.
struct ComparedRow {
  SiteRow site;          // frames and numbers of the last recording that has the stacks
  size_t recording = 0;  // index of that recording
  report::StackState state = report::StackState::kSame;
  bool growing = false;                         // as report::ComparedStack::growing
  std::vector<std::optional<uint64_t>> values;  // of the sort figure, one per recording

  [[nodiscard]] std::optional<int64_t> change() const { return report::change_of(values.front(), values.back()); }
};

class ComparedList {
 public:
  // `comparison` must outlive this. `unchanged`: all of its stacks are listed.
  ComparedList(const report::Comparison& comparison, const FrameTextOptions& frames, bool unchanged);

  // In the comparison's order.
  [[nodiscard]] const std::vector<const report::ComparedStack*>& stacks() const { return stacks_; }
  // Two recordings: the largest change first. More: the largest growth first. Unknown changes come last.
  [[nodiscard]] std::vector<ComparedRow> rows() const;
  // Changed stacks of system libraries' memory. They are listed instead if all stacks are, or a filter asks for some.
  [[nodiscard]] const std::vector<const report::ComparedStack*>& of_libraries() const { return of_libraries_; }
  // Number of the comparison's stacks that aren't listed: only other figures changed.
  [[nodiscard]] uint64_t changed_otherwise() const { return changed_otherwise_; }

  // Index of the first and of the last recording that has the stack.
  [[nodiscard]] static size_t first_of(const report::ComparedStack& stack);
  [[nodiscard]] static size_t last_of(const report::ComparedStack& stack);
  // Text of a recording's frames. File names are unique within a recording: another one may be of the same files elsewhere.
  [[nodiscard]] const FrameText& text_of(size_t recording) const { return texts_[recording]; }

 private:
  void add_texts(const FrameTextOptions& frames);

  const report::Comparison& comparison_;
  std::vector<const report::ComparedStack*> stacks_;
  std::vector<const report::ComparedStack*> of_libraries_;
  uint64_t changed_otherwise_ = 0;
  std::vector<FrameText> texts_;  // by recording
};

// Whether the sort figure differs between any two recordings, or is unknown.
bool is_changed(const report::Comparison& comparison, const report::ComparedStack& stack);

}  // namespace heaptap::findings
