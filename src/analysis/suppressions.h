// Which leaks the user doesn't want to see: matches their stacks against suppressions.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/module_files.h"
#include "analysis/suppression_file.h"
#include "base/result.h"
#include "model/capture.h"
#include "model/frame.h"
#include "wire/functions.h"

namespace heaptap::analysis {

// The stack of an allocation: which function was called, and its callers, innermost first, inlined ones included.
struct NamedStack {
  wire::Function function = wire::Function::kNone;
  std::span<const model::Frame> frames;
  const ModuleFiles* files = nullptr;  // null: each module's path is its file's

  [[nodiscard]] std::string_view file_of(const model::Frame& frame) const {
    return files == nullptr ? std::string_view(frame.module) : files->of(frame.module);
  }
};

class Suppressions {
 public:
  // Adds those of a file, or of a text; `file` is its name for messages. After an error nothing of it was added.
  base::Result<> read(const std::string& path);
  base::Result<> add(std::string_view text, const std::string& file);

  // Those that a trace carries, but for what is here already.
  base::Result<> add(const std::vector<model::SuppressionText>& carried);

  // What was added, as it was read: for a trace to carry.
  [[nodiscard]] const std::vector<model::SuppressionText>& texts() const { return texts_; }

  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] const std::vector<Suppression>& list() const { return list_; }

  // The first one that matches a stack's leak of this state, as an index into list().
  [[nodiscard]] std::optional<size_t> find(const NamedStack& stack, leaks::BlockState state) const;

 private:
  std::vector<Suppression> list_;
  std::vector<model::SuppressionText> texts_;
};

// What each stack of a program or of a thread has: what calls main and a thread's function, and main.
bool is_in_every_stack(std::string_view function);
// Whether a suppression speaks of nothing but such functions, so that it hides more or less all leaks.
bool hides_everything(const Suppression& suppression);

// All of them, in order. What can't be read or isn't one is wrong usage.
base::Result<Suppressions> read_suppressions(const std::vector<std::string>& paths);

// Whether the names of a stack are what a suppression speaks of. (Its states are not looked at.)
bool matches(const Suppression& suppression, const NamedStack& stack);

// Valgrind's patterns: * is any text, ? any character; the whole text has to match.
bool matches_wildcards(std::string_view pattern, std::string_view text);
// LSan's: * is any text, ^ at the front and $ at the end pin it there; else the pattern may stand anywhere.
bool matches_lsan(std::string_view pattern, std::string_view text);

}  // namespace heaptap::analysis
