#include "analysis/findings/telling_frame.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analysis/findings/machinery.h"
#include "analysis/findings/telling_frames.h"

namespace heaptap::findings {
namespace {

// A frame of the C or C++ library is less informative than its caller, and so is a container inlined into the program,
// whose code is in the system's headers.
bool of_system(const model::Frame& frame) {
  const std::string_view module(frame.module);
  const std::string_view name = module.substr(module.rfind('/') + 1);
  for (const std::string_view library : {"libc.so", "ld-linux", "libstdc++.so", "libc++.so", "libgcc_s.so"}) {
    if (name.starts_with(library)) {
      return true;
    }
  }
  return frame.file.starts_with("/usr/");
}

// Of code without a name the line of the interpreted program that called it tells more. frames.size(): there is none.
size_t interpreted_place(const report::FrameList& frames, size_t place) {
  while (place < frames.size() && frames[place].module != model::kInterpretedModule) ++place;
  return place;
}

// `is_passed(frame)`: whether it is machinery, or the user's.
template <typename IsPassed>
size_t place_in(const report::FrameList& frames, const IsPassed& is_passed) {
  size_t own = frames.size();
  size_t own_with_line = frames.size();
  size_t interpreter = frames.size();
  for (size_t place = 0; place < frames.size(); ++place) {
    const model::Frame& frame = frames[place];
    if (!is_passed(frame)) {
      const size_t interpreted = frame.function.empty() ? interpreted_place(frames, place) : frames.size();
      if (interpreted != frames.size()) return interpreted;
      const bool ran_no_program = interpreter != frames.size() && is_startup(frame);
      return ran_no_program ? interpreter : place;
    }
    const bool is_interpreters = frame.of_interpreter && !is_machinery_name(frame.function);
    if (is_interpreters && interpreter == frames.size()) interpreter = place;
    if (of_system(frame)) continue;
    if (own == frames.size()) own = place;
    if (own_with_line == frames.size() && !frame.file.empty()) own_with_line = place;
  }
  if (own_with_line != frames.size()) return own_with_line;
  return own != frames.size() || frames.empty() ? own : 0;
}

}  // namespace

size_t telling_place(const report::FrameList& frames, const report::SkippedNames& skipped) {
  return place_in(frames, [&](const model::Frame& frame) { return is_machinery(frame) || skipped.match(frame); });
}

const model::Frame* TellingFrames::of(report::FramePath path) {
  const report::FrameList frames = report_.list(path);
  const model::Frame* const table = report_.frames.all().data();
  const size_t place = place_in(frames, [&](const model::Frame& frame) {
    Passed& passed = passed_[static_cast<size_t>(&frame - table)];
    if (passed == Passed::kUnknown)
      passed = is_machinery(frame) || report_.skipped.match(frame) ? Passed::kYes : Passed::kNo;
    return passed == Passed::kYes;
  });
  return place == frames.size() ? nullptr : &frames[place];
}

const model::Frame* telling_frame(const report::FrameList& frames, const report::SkippedNames& skipped) {
  const size_t place = telling_place(frames, skipped);
  return place == frames.size() ? nullptr : &frames[place];
}

size_t crash_place(const report::FrameList& frames, const report::SkippedNames& skipped) {
  const size_t end = told_frames(frames);
  for (size_t place = 0; place < end; ++place) {
    if (!is_way_to_end(frames[place]) && !skipped.match(frames[place])) return place;
  }
  return 0;
}

size_t told_frames(const report::FrameList& frames) {
  size_t told = frames.size();
  const auto is_rusts_main = [&](size_t place) {
    return place > 0 && frames[place].function == "main" && is_start_of_rust(frames[place - 1]);
  };
  while (told > 0 && (is_startup(frames[told - 1]) || is_rusts_main(told - 1))) --told;
  return told == 0 ? frames.size() : told;
}

uint32_t frame_kind(const model::Frame& frame) {
  constexpr std::string_view kStart[] = {"__libc_start_call_main",
                                         "__libc_start_main",
                                         "__libc_start_main_impl",
                                         "_start",
                                         "start_thread",
                                         "clone3",
                                         "__clone3",
                                         "__clone"};
  if (std::ranges::find(kStart, frame.function) != std::end(kStart)) return 2;
  return of_system(frame) ? 1 : 0;
}

}  // namespace heaptap::findings
