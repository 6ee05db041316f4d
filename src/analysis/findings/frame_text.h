// Text of frames and of allocation sites; safe for a terminal.
#pragma once
#include <string>
#include <vector>

#include "analysis/findings/file_names.h"
#include "analysis/report/frame_list.h"
#include "analysis/report/skipped_names.h"

namespace heaptap::findings {

struct FrameTextOptions {
  bool full_names = false;   // with template arguments and return types, uncut
  bool full_paths = false;   // of source files and modules
  bool full_stacks = false;  // with library frames, those below main() and those below a thread's function
  bool offsets = true;       // in sites, of functions without a known source line
};

// A frame of a listed stack, or a run of library frames that stands for itself as a number.
struct ListedFrame {
  const model::Frame* frame = nullptr;  // null: a run
  size_t run = 0;                       // its frames
};

class FrameText {
 public:
  // `shown`: all frames displayed together; `skipped` must outlive this.
  FrameText(std::span<const model::Frame> shown, const report::SkippedNames& skipped, FrameTextOptions options);

  // About `most` characters at most, unless full names are wanted; "??" if unnamed.
  [[nodiscard]] std::string function(const model::Frame& frame, size_t most) const;
  // "app.cpp:12", "libfoo.so+0x1234", or the address if no module is known.
  [[nodiscard]] std::string place(const model::Frame& frame) const;
  // Function and place: "make_buffer(int) app.cpp:12".
  [[nodiscard]] std::string both(const model::Frame& frame, size_t most) const;
  // The same without the function's parameters.
  [[nodiscard]] std::string site(const model::Frame& frame, size_t most) const { return written({&frame}, most); }

  // Allocation site of a stack: the telling frame and two of its callers, innermost first, at most `width` characters (0: unlimited):
  // "make_buffer leak.cc:11 < process leak.cc:12 < main leak.cc:19". Callers' names are shortened first, then callers dropped; the
  // telling frame's name is cut last, and its place never if a name of a few characters fits beside. Allocation machinery, frames below
  // main() and recursive calls are omitted.
  [[nodiscard]] std::string describe_site(const report::FrameList& frames, size_t width = 0) const;

  // Place of a crash: the program's innermost frame and two of its callers, in the same form.
  [[nodiscard]] std::string describe_crash(const report::FrameList& frames, size_t width = 0) const;

  // The telling frame alone, its name of about `most` characters at most; empty: there is none.
  [[nodiscard]] std::string innermost_site(const report::FrameList& frames, size_t most) const;

  // A stack as it is listed: two and more successive frames of allocation machinery are a run, unless the telling frame is machinery
  // itself.
  [[nodiscard]] std::vector<ListedFrame> listed_frames(const report::FrameList& frames) const;

  // Number of a stack's frames without those below main() or a thread's function.
  [[nodiscard]] size_t listed(const report::FrameList& frames) const;
  [[nodiscard]] const FrameTextOptions& options() const { return options_; }

 private:
  [[nodiscard]] std::string described(std::vector<const model::Frame*> site, size_t width) const;
  [[nodiscard]] std::string written(const std::vector<const model::Frame*>& frames, size_t most) const;

  const report::SkippedNames& skipped_;
  FrameTextOptions options_;
  FileNames files_;
};

}  // namespace heaptap::findings
