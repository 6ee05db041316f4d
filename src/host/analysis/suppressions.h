// Which leaks the user doesn't want to see: matches their stacks against suppressions, and counts what each hid.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/analysis/suppression_file.h"
#include "host/base/result.h"
#include "host/symbols/resolver.h"
#include "wire/functions.h"

namespace heaptap::analysis {

// The stack of an allocation: which function was called, and its callers, innermost first, inlined ones included.
struct NamedStack {
  wire::Function function = wire::Function::kNone;
  std::span<const symbols::Frame> frames;
};

class Suppressions {
 public:
  struct Use {
    uint64_t stacks = 0;
    uint64_t blocks = 0;
    uint64_t bytes = 0;
  };

  // Adds those of a file, or of a text; `file` is its name for messages. After an error nothing of it was added.
  base::Result<> read(const std::string& path);
  base::Result<> add(std::string_view text, const std::string& file);

  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] const std::vector<Suppression>& list() const { return list_; }
  // What the one at this index of list() hid.
  [[nodiscard]] const Use& use_of(size_t index) const { return uses_[index]; }
  // Those that hid nothing, as indexes into list().
  [[nodiscard]] std::vector<size_t> unused() const;

  // The first one that matches a stack's leak of this state, as an index into list().
  [[nodiscard]] std::optional<size_t> find(const NamedStack& stack, leaks::BlockState state) const;
  // The same, and counts it.
  std::optional<size_t> suppress(const NamedStack& stack, leaks::BlockState state, uint64_t blocks, uint64_t bytes);

 private:
  std::vector<Suppression> list_;
  std::vector<Use> uses_;
};

// Whether the names of a stack are what a suppression speaks of. (Its states are not looked at.)
bool matches(const Suppression& suppression, const NamedStack& stack);

// Valgrind's patterns: * is any text, ? any character; the whole text has to match.
bool matches_wildcards(std::string_view pattern, std::string_view text);
// LSan's: * is any text, ^ at the front and $ at the end pin it there; else the pattern may stand anywhere.
bool matches_lsan(std::string_view pattern, std::string_view text);

}  // namespace heaptap::analysis
