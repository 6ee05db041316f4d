// Call tree as text. A chain of nodes without branches is one level of indentation.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/capture_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/report/call_tree.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"

namespace heaptap::text {
namespace {

constexpr size_t kFigures = 22;        // characters of a line before the names
constexpr double kLeastShare = 0.005;  // lighter branches are added up

class TreeText {
 public:
  TreeText(const TextContext& context, report::Weight weight, uint64_t total)
      : context_(context), weight_(weight), total_(total) {}

  std::string render(const report::TreeNode& root) {
    branches(root, 0);
    return std::move(text_);
  }

 private:
  [[nodiscard]] bool counts() const {
    return weight_ == report::Weight::kAllocations || weight_ == report::Weight::kTemporary;
  }

  [[nodiscard]] std::string amount(uint64_t value) const {
    return counts() ? base::format_count(value) : base::format_bytes(value);
  }

  // Deep trees continue at the same indentation.
  [[nodiscard]] static size_t spaces_of(size_t indent) { return 2 * std::min<size_t>(indent, 10); }

  void line(uint64_t weight, size_t indent, const std::string& what) {
    text_ += fmt::format("{:>7} {:>12}  {}{}\n", percent(weight, total_), amount(weight),
                         std::string(spaces_of(indent), ' '), what);
  }

  [[nodiscard]] std::string bounds(uint64_t weight) const {
    if (counts()) return {};
    const report::Totals& totals = context_.report.totals;
    return context_.ink.dim(findings::bounds_behind(weight_ == report::Weight::kPeakBytes
                                                        ? findings::peak_bounds_text(weight, totals)
                                                        : findings::bounds_text(weight, totals.sample_interval)));
  }

  [[nodiscard]] std::string name(const report::TreeNode& node, size_t indent) const {
    if (node.frame == report::kNoFrame) return context_.ink.bold(base::safe_text(node.function));
    return frame_line(context_, context_.report.frames[node.frame], kFigures + spaces_of(indent));
  }

  void branch(const report::TreeNode& first, size_t indent) {
    line(first.weight, indent, name(first, indent) + bounds(first.weight));
    const report::TreeNode* node = &first;
    while (node->children.size() == 1) {
      node = &node->children.front();
      text_ += fmt::format("{:>20}  {}{}\n", "", std::string(spaces_of(indent), ' '), name(*node, indent));
    }
    branches(*node, indent + 1);
  }

  void branches(const report::TreeNode& node, size_t indent) {
    uint64_t rest = 0;
    size_t rest_count = 0;
    for (size_t index = 0; index < node.children.size(); ++index) {
      const report::TreeNode& child = node.children[index];
      const bool light = static_cast<double>(child.weight) < kLeastShare * static_cast<double>(total_);
      if ((light && index > 0) || index >= context_.rows(64)) {
        rest += child.weight;
        ++rest_count;
      } else {
        branch(child, indent);
      }
    }
    if (rest_count != 0) {
      line(rest, indent,
           context_.ink.dim(fmt::format("({} lighter {})", rest_count, rest_count == 1 ? "branch" : "branches")));
    }
  }

  const TextContext& context_;
  report::Weight weight_;
  uint64_t total_;
  std::string text_;
};

const char* describe_weight(report::Weight weight) {
  switch (weight) {
    case report::Weight::kLiveBytes:
      return "bytes not freed";
    case report::Weight::kPeakBytes:
      return "bytes at the peak";
    case report::Weight::kAllocatedBytes:
      return "allocated bytes";
    case report::Weight::kAllocations:
      return "allocations";
    case report::Weight::kTemporary:
      return "temporary allocations";
  }
  return "";
}

// " of cc1plus (pid 12)": of several processes, where bytes at the peak are those of one.
std::string process_of_peak(const TextContext& context, report::Weight weight) {
  const std::string process =
      weight == report::Weight::kPeakBytes ? findings::peak_process_text(context.report) : std::string();
  return process.empty() ? "" : " of " + process;
}

// " by malloc and mmap": where it isn't of malloc alone.
const char* memory_text(const TextContext& context) {
  switch (context.options.memory) {
    case report::Memory::kMmap:
      return " by mmap";
    case report::Memory::kBoth:
      return " by malloc and mmap";
    case report::Memory::kMalloc:
      break;
  }
  return "";
}

}  // namespace

std::string text_tree(const TextContext& context) {
  const report::Weight weight = report::choose_weight(context.report);
  const bool bottom_up = context.options.bottom_up;
  const auto depth_of = [&](const report::FrameList& frames) { return context.text.listed(frames); };
  const report::TreeNode root = bottom_up ? report::build_bottom_up_tree(context.report, weight, kLeastShare, depth_of)
                                          : report::build_top_down_tree(context.report, weight, depth_of);
  std::string text = title_of(context) + "\n";
  text += context.ink.bold(fmt::format("Call tree by {}{}{}, {}", describe_weight(weight),
                                       process_of_peak(context, weight), memory_text(context),
                                       bottom_up ? "from the allocating functions to their callers"
                                                 : "from the first callers to the allocating functions"));
  text += "\n\n" + TreeText(context, weight, root.weight).render(root);
  return text + remarks_of(context);
}

}  // namespace heaptap::text
