// How frames and the sites of allocations are written; safe for a terminal.
#pragma once
#include <string>
#include <vector>

#include "report/file_names.h"
#include "report/frame_list.h"
#include "report/machinery.h"

namespace heaptap::report {

struct FrameTextOptions {
  bool full_names = false;   // with template arguments and return types, of any length
  bool full_paths = false;   // of source files and modules
  bool full_stacks = false;  // with the frames below main() and below a thread's function
  bool offsets = true;       // in sites, of functions whose source line isn't known
};

class FrameText {
 public:
  // `shown`: all frames that are shown together; `skipped` outlives it.
  FrameText(std::span<const model::Frame> shown, const SkippedNames& skipped, FrameTextOptions options);

  // At most about `most` characters, unless names are wanted in full; "??" where it has none.
  [[nodiscard]] std::string function(const model::Frame& frame, size_t most) const;
  // "app.cpp:12", "libfoo.so+0x1234", or the address where no module is known.
  [[nodiscard]] std::string place(const model::Frame& frame) const;
  // Both: "make_buffer(int) app.cpp:12".
  [[nodiscard]] std::string both(const model::Frame& frame, size_t most) const;

  // Where a stack allocates: the telling frame and two of its callers, innermost first, at most `width` characters (0: of any
  // length): "make_buffer leak.cc:11 < process leak.cc:12 < main leak.cc:19". Names are cut first, then callers go. Machinery
  // between them and what is below main() isn't told, nor a function's calls of itself.
  [[nodiscard]] std::string describe_site(const FrameList& frames, size_t width = 0) const;

  // How many frames of a stack are listed.
  [[nodiscard]] size_t listed(const FrameList& frames) const;
  [[nodiscard]] const FrameTextOptions& options() const { return options_; }

 private:
  [[nodiscard]] std::string written(const std::vector<const model::Frame*>& frames, size_t most) const;

  const SkippedNames& skipped_;
  FrameTextOptions options_;
  FileNames files_;
};

}  // namespace heaptap::report
