#include "analysis/findings/frame_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/findings/function_name.h"
#include "analysis/findings/machinery.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/text_safe.h"
#include "common/base/safe_text.h"

namespace heaptap::findings {
namespace {

constexpr size_t kSiteFrames = 3;
constexpr size_t kInnermostName = 40;  // of the telling frame, where callers' names are shorter
constexpr size_t kAnyLength = std::numeric_limits<size_t>::max();
constexpr const char* kUnknown = "an unknown caller";

bool is_same_function(const model::Frame& one, const model::Frame& other) {
  return !one.function.empty() && one.function == other.function && one.module == other.module;
}

// Code that a program has made in memory, or whose module is unknown.
bool is_in_no_file(const model::Frame& frame) {
  return frame.module.empty() && frame.function.empty() && frame.address != 0;
}

// A frame and its nearest informative callers.
template <typename IsPassedOver>
std::vector<const model::Frame*> frames_from(const report::FrameList& frames, size_t first,
                                             const IsPassedOver& is_passed_over) {
  std::vector<const model::Frame*> found;
  const size_t end = told_frames(frames);
  for (size_t place = first; place < frames.size() && found.size() < kSiteFrames; ++place) {
    const model::Frame& frame = frames[place];
    const bool is_caller = !found.empty();
    if (is_caller && (place >= end || is_passed_over(frame))) continue;
    if (is_caller && is_same_function(*found.back(), frame)) continue;
    found.push_back(&frame);
  }
  return found;
}

}  // namespace

FrameText::FrameText(std::span<const model::Frame> shown, const report::SkippedNames& skipped, FrameTextOptions options)
    : skipped_(skipped), options_(options), files_(options.full_paths ? FileNames() : FileNames(shown)) {}

std::string FrameText::function(const model::Frame& frame, size_t most) const {
  if (frame.function.empty()) return "??";
  if (options_.full_names) return base::safe_text(frame.function);
  return base::safe_text(short_name(plain_function(frame.function), most));
}

std::string FrameText::place(const model::Frame& frame) const {
  if (!frame.file.empty()) {
    const std::string file = options_.full_paths ? frame.file : files_.of(frame.file);
    return base::safe_text(frame.line == 0 ? file : fmt::format("{}:{}", file, frame.line));
  }
  const bool stands_for_no_code = frame.address == 0 && !frame.function.empty();  // as massif's "below threshold"
  if (frame.module.empty()) return stands_for_no_code ? "" : fmt::format("{:#x}", frame.address);
  return base::safe_text(
      fmt::format("{}+{:#x}", options_.full_paths ? frame.module : base_name(frame.module), frame.offset));
}

std::string FrameText::both(const model::Frame& frame, size_t most) const {
  return frame.function.empty() ? place(frame) : function(frame, most) + " " + place(frame);
}

std::string FrameText::written(const std::vector<const model::Frame*>& frames, size_t most) const {
  std::string text;
  for (const model::Frame* frame : frames) {
    const size_t longest = text.empty() ? std::max(most, kInnermostName) : most;
    if (!text.empty()) text += " < ";
    if (frame->function.empty()) {
      text += place(*frame);
      if (is_in_no_file(*frame)) text += " (JIT-compiled?)";
      continue;
    }
    const std::string plain = plain_function(frame->function);
    const std::string name = options_.full_names ? frame->function : std::string(qualified_name(plain));
    text += base::safe_text(options_.full_names ? name : short_name(name, longest));
    if (options_.offsets || !frame->file.empty()) text.append(1, ' ').append(place(*frame));
  }
  return text;
}

std::string FrameText::describe_site(const report::FrameList& frames, size_t width) const {
  return described(frames_from(frames, telling_place(frames, skipped_),
                               [&](const model::Frame& frame) { return is_machinery(frame) || skipped_.match(frame); }),
                   width);
}

std::string FrameText::describe_crash(const report::FrameList& frames, size_t width) const {
  return described(
      frames_from(frames, crash_place(frames, skipped_),
                  [&](const model::Frame& frame) { return is_way_to_end(frame) || skipped_.match(frame); }),
      width);
}

std::string FrameText::described(std::vector<const model::Frame*> site, size_t width) const {
  if (site.empty()) return kUnknown;
  const model::Frame& frame = *site.front();
  std::string text = written(site, kAnyLength);
  if (width == 0 || options_.full_names) return text;
  constexpr size_t kShortest = 16;
  for (; !site.empty(); site.pop_back()) {
    text = written(site, kAnyLength);
    for (size_t most = 64; shown_width(text) > width && most >= kShortest; most -= 8) text = written(site, most);
    if (shown_width(text) <= width) return text;
  }
  const std::string where = options_.offsets || !frame.file.empty() || frame.function.empty() ? place(frame) : "";
  constexpr size_t kLeastName = 9;  // of short_name()
  const size_t taken = where.empty() ? 0 : where.size() + 1;
  if (frame.function.empty() || width < taken + kLeastName) return cut_middle(text, width);
  const std::string plain = plain_function(frame.function);
  const std::string name = base::safe_text(short_name(qualified_name(plain), width - taken));
  return where.empty() ? name : name + " " + where;
}

std::string FrameText::innermost_site(const report::FrameList& frames, size_t most) const {
  const model::Frame* const frame = telling_frame(frames, skipped_);
  return frame == nullptr ? "" : both(*frame, most);
}

std::vector<ListedFrame> FrameText::listed_frames(const report::FrameList& frames) const {
  const size_t end = listed(frames);
  const size_t telling = telling_place(frames, skipped_);
  const bool is_folded = !options_.full_stacks && telling < frames.size() && !is_machinery(frames[telling]);
  std::vector<ListedFrame> shown;
  for (size_t place = 0; place < end;) {
    size_t after = place;
    while (is_folded && after < end && is_machinery(frames[after])) ++after;
    if (const size_t run = after - place; run >= 2) {
      shown.push_back({.frame = nullptr, .run = run});
      place = after;
    } else {
      shown.push_back({.frame = &frames[place++]});
    }
  }
  return shown;
}

size_t FrameText::listed(const report::FrameList& frames) const {
  return options_.full_stacks ? frames.size() : told_frames(frames);
}

}  // namespace heaptap::findings
