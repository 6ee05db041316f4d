#include "analysis/query/suppression_writer.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

namespace heaptap::query {
namespace {

using model::Frame;

constexpr size_t kMaxEntryFrames = 24;  // Valgrind reads no more frames

std::string_view match_kind_of(leaks::BlockState state) {
  constexpr std::array<std::string_view, 4> kNames = {"reachable", "possible", "indirect", "definite"};
  return kNames[static_cast<size_t>(state) % kNames.size()];
}

// Names come from files: characters that would end the line, be skipped as blanks around the name, or have a meaning in
// a pattern, become wildcards.
std::string in_pattern(std::string_view name, std::string_view special, char wildcard) {
  std::string text(name);
  const auto is_special = [&](char c) {
    return static_cast<unsigned char>(c) < 0x20 || special.find(c) != special.npos;
  };
  std::ranges::replace_if(text, is_special, wildcard);
  if (text.starts_with(' ')) text.front() = wildcard;
  if (text.ends_with(' ')) text.back() = wildcard;
  return text;
}

// Valgrind compares mangled names.
std::string valgrind_line(const Frame& frame, std::string_view file) {
  const std::string& name = frame.symbol.empty() ? frame.function : frame.symbol;
  if (!name.empty()) return "   fun:" + in_pattern(name, "", '?') + "\n";
  return "   obj:" + (frame.module.empty() ? "*" : in_pattern(file, "", '?')) + "\n";
}

// Up to main: the frames below differ between machines. Empty if there are no others.
std::string valgrind_frames(const NamedStack& stack) {
  const std::string_view called = wire::facts_of(stack.function).symbol;
  std::string text = called == "posix_memalign" ? "   fun:memalign\n" : "";  // in Valgrind one calls the other
  text += fmt::format("   fun:{}\n", called);
  size_t count = 1;
  for (const Frame& frame : stack.frames) {
    const bool is_main = frame.function == "main";
    if (count == kMaxEntryFrames || (!is_main && is_in_every_stack(frame.function))) break;
    text += valgrind_line(frame, stack.file_of(frame));
    ++count;
    if (is_main) break;
  }
  return count == 1 ? "" : text;
}

bool is_of_system(const Frame& frame) {
  return frame.module.starts_with("/lib") || frame.module.starts_with("/usr/lib");
}

// Whether the frame is in so many leaks that a suppression of it would hide others: a wrapper of an allocation
// function.
bool is_common(const Frame& frame) {
  const std::string_view name = frame.function;
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.find("alloc") != name.npos ||
         name.find("Alloc") != name.npos || name.find("strdup") != name.npos;
}

// The most characteristic frame of a leak: the innermost one that is neither common nor of a system library; else the
// innermost of those.
const Frame* telling_frame(const NamedStack& stack) {
  const auto named = [](const Frame& frame) { return !frame.function.empty() && !is_in_every_stack(frame.function); };
  const auto telling = [&](const Frame& frame) { return named(frame) && !is_common(frame); };
  const auto own = [&](const Frame& frame) { return telling(frame) && !is_of_system(frame); };
  auto found = std::ranges::find_if(stack.frames, own);
  if (found == stack.frames.end()) found = std::ranges::find_if(stack.frames, telling);
  if (found == stack.frames.end()) found = std::ranges::find_if(stack.frames, named);
  return found == stack.frames.end() ? nullptr : &*found;
}

std::string lsan_pattern(const NamedStack& stack) {
  if (const Frame* frame = telling_frame(stack)) return "leak:^" + in_pattern(frame->function, "^$", '*') + "$\n";
  // A library: the program itself is in all stacks.
  for (const Frame& frame : stack.frames) {
    const bool is_library = frame.module.find(".so", frame.module.rfind('/') + 1) != frame.module.npos;
    if (is_library && !is_in_every_stack(frame.function)) return "leak:^" + in_pattern(frame.module, "^$", '*') + "$\n";
  }
  return {};
}

// Finds rules that hide all leaks. There are nearly as many rules as leaks, so each is compared with few: first with the leak that the last
// one didn't match.
class Warnings {
 public:
  explicit Warnings(std::span<const LeakToSuppress> leaks) : leaks_(leaks) {}

  // A comment about such a rule; empty: another one.
  std::string about(const std::string& rule) {
    if (leaks_.size() <= 1) return "";
    const auto parsed = parse_suppressions(rule, "");
    if (!parsed || parsed->size() != 1 || !matches_all(parsed->front())) return "";
    return fmt::format("# careful: this hides all of the {} leaks here\n", leaks_.size());
  }

 private:
  bool matches_all(const Suppression& rule) {
    if (!matches(rule, leaks_[unlike_].stack)) return false;
    const auto other =
        std::ranges::find_if(leaks_, [&](const LeakToSuppress& leak) { return !matches(rule, leak.stack); });
    if (other == leaks_.end()) return true;
    unlike_ = static_cast<size_t>(other - leaks_.begin());
    return false;
  }

  std::span<const LeakToSuppress> leaks_;
  size_t unlike_ = 0;  // not matched by the last rule that didn't match all
};

std::string title_of(const LeakToSuppress& leak) {
  const Frame* frame = telling_frame(leak.stack);
  return fmt::format("{} leak of {} bytes in {} blocks{}{}", match_kind_of(leak.state), leak.bytes, leak.blocks,
                     frame == nullptr ? "" : ", ", frame == nullptr ? "" : in_pattern(frame->function, "", '?'));
}

}  // namespace

std::string write_suppressions(SuppressionSyntax syntax, std::span<const LeakToSuppress> leaks) {
  std::string text;
  std::set<std::string> written;
  Warnings warnings(leaks);
  for (const LeakToSuppress& leak : leaks) {
    if (syntax == SuppressionSyntax::kLsan) {
      const std::string line = lsan_pattern(leak.stack);
      if (line.empty()) {
        text += fmt::format("# {}: its stack can't be told from others in this syntax (Valgrind's may do)\n",
                            title_of(leak));
      } else if (written.insert(line).second) {
        text += fmt::format("{}# {}\n{}", warnings.about(line), title_of(leak), line);
      }
    } else {
      const std::string frames = valgrind_frames(leak.stack);
      if (frames.empty()) {
        text += fmt::format("# {}: nothing in its stack tells it from others\n", title_of(leak));
        continue;
      }
      const std::string body =
          fmt::format("   Memcheck:Leak\n   match-leak-kinds: {}\n{}", match_kind_of(leak.state), frames);
      if (!written.insert(body).second) continue;
      const std::string rule = fmt::format("{{\n   {}\n{}}}\n", title_of(leak), body);
      text += warnings.about(rule) + rule;
    }
  }
  return text;
}

}  // namespace heaptap::query
