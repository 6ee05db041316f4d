// The user's editor, at a line of a source file that a trace names.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::app {

struct SourceLine {
  std::string path;  // absolute
  uint32_t line = 0;
  uint32_t column = 0;  // 0: unknown
};

// Arguments that open it: with the editor's words in front, and the line as that editor takes it. No words: the program for this kind of
// file, which a hostile name must not turn into one that executes it: fails unless it is called as sources are.
base::Result<std::vector<std::string>> editor_arguments(const std::string& editor, const SourceLine& place);

// Starts $VISUAL, else $EDITOR, and waits for it; without these, what the desktop opens such files with. No shell takes part. Fails if the
// file isn't a regular one.
base::Result<> open_in_editor(const SourceLine& place);

}  // namespace heaptap::app
