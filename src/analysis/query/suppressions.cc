#include "analysis/query/suppressions.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "analysis/symbols/resolver.h"

namespace heaptap::query {
namespace {

using model::Frame;

constexpr size_t kMaxFileBytes = 64 << 20;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

base::Result<std::string> read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) {
    return base::fail("can't read the suppressions in {}: {}; give an existing file with --suppressions FILE", path,
                      base::reason_of(errno));
  }
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), file.get())) > 0;) {
    text.append(buffer.data(), count);
    if (text.size() > kMaxFileBytes) return base::fail("{} is too large for a file of suppressions", path);
  }
  if (std::ferror(file.get()) != 0) {
    return base::fail("can't read the suppressions in {}: {}", path, base::reason_of(errno));
  }
  return text;
}

constexpr std::array<std::string_view, 14> kInEveryStack = {"main",
                                                            "_start",
                                                            "_start_c",
                                                            "_dl_start_user",
                                                            "generic_start_main",
                                                            "__libc_start_main",
                                                            "start_thread",
                                                            "thread_start",
                                                            "clone",
                                                            "clone3",
                                                            "__clone",
                                                            "__clone3",
                                                            "__clone_internal",
                                                            "__libc_start_call_main"};

// Valgrind's name for the caller of main, where its stacks end.
bool is_below_main(std::string_view function) {
  return function.starts_with("__libc_start_") || function == "generic_start_main" || function == "_start";
}

// Whether `is_so` holds for an alias of the function.
template <typename Is>
bool any_alias(const Frame& frame, Is is_so) {
  for (std::string_view rest = frame.aliases; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (is_so(rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// Valgrind has the path of a file with links resolved, LeakSanitizer the loader's.
bool matches_object(std::string_view pattern, const Frame& frame, std::string_view file) {
  if (frame.module.empty()) return matches_wildcards(pattern, "???");
  return matches_wildcards(pattern, frame.module) || matches_wildcards(pattern, file);
}

bool matches_function(std::string_view pattern, const Frame& frame) {
  if (matches_wildcards(pattern, frame.function.empty() ? "???" : std::string_view(frame.function))) return true;
  if (!frame.symbol.empty() && matches_wildcards(pattern, frame.symbol)) return true;
  if (any_alias(frame, [pattern](std::string_view alias) { return matches_wildcards(pattern, alias); })) return true;
  return is_below_main(frame.function) && matches_wildcards(pattern, "(below main)");
}

bool matches_source(std::string_view pattern, const Frame& frame) {
  if (frame.file.empty()) return false;
  const std::string_view file = frame.file;
  const std::string_view name = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  return matches_wildcards(pattern, file) || matches_wildcards(pattern, name) ||
         matches_wildcards(pattern, fmt::format("{}:{}", file, frame.line)) ||
         matches_wildcards(pattern, fmt::format("{}:{}", name, frame.line));
}

bool matches_frame(const FramePattern& pattern, const Frame& frame, const NamedStack& stack) {
  switch (pattern.rule) {
    case FrameRule::kFunction:
      return matches_function(pattern.pattern, frame);
    case FrameRule::kObject:
      return matches_object(pattern.pattern, frame, stack.file_of(frame));
    case FrameRule::kSource:
      return matches_source(pattern.pattern, frame);
    default:
      return true;
  }
}

using FrameList = std::vector<const Frame*>;

// The patterns have to match the innermost frames; further frames don't matter.
bool matches_frames(const std::vector<FramePattern>& patterns, const FrameList& frames, const NamedStack& stack) {
  size_t pattern = 0;
  size_t frame = 0;
  std::optional<size_t> any;  // the last "..." that was passed, and the frame that it reached up to
  size_t any_frame = 0;
  while (pattern < patterns.size()) {
    if (patterns[pattern].rule == FrameRule::kAnyFrames) {
      any = pattern++;
      any_frame = frame;
    } else if (frame < frames.size() && matches_frame(patterns[pattern], *frames[frame], stack)) {
      ++pattern;
      ++frame;
    } else if (any && any_frame < frames.size()) {
      pattern = *any + 1;
      frame = ++any_frame;
    } else {
      return false;
    }
  }
  return true;
}

// The allocation function as a frame, as Valgrind and LSan have it.
Frame called_frame(std::string_view symbol) {
  Frame frame;
  frame.symbol = symbol;
  frame.function = symbols::demangle(frame.symbol);
  return frame;
}

// The innermost frames in Valgrind's stack of a call: its functions call each other, depending on its version.
std::vector<std::vector<Frame>> called_frames(wire::Function function) {
  const std::string_view symbol = wire::facts_of(function).symbol;
  std::vector<std::vector<Frame>> ways{{called_frame(symbol)}};
  if (symbol == "realloc" || symbol == "reallocarray") {  // of a null pointer
    ways.push_back({called_frame("malloc")});
    ways.push_back({called_frame("malloc"), called_frame(symbol)});
    if (symbol == "reallocarray") ways.push_back({called_frame("realloc"), called_frame(symbol)});
  } else if (symbol == "posix_memalign" || symbol == "aligned_alloc" || symbol == "valloc" || symbol == "pvalloc") {
    ways.push_back({called_frame("memalign")});
    ways.push_back({called_frame("memalign"), called_frame(symbol)});
  }
  return ways;
}

bool matches_valgrind(const Suppression& suppression, const std::vector<Frame>& called, const NamedStack& stack) {
  FrameList all;
  for (const Frame& frame : called) all.push_back(&frame);
  FrameList outlined = all;  // in older versions of Valgrind
  for (const Frame& frame : stack.frames) {
    all.push_back(&frame);
    if (!frame.inlined) outlined.push_back(&frame);
  }
  return matches_frames(suppression.frames, all, stack) ||
         (outlined.size() < all.size() && matches_frames(suppression.frames, outlined, stack));
}

bool matches_lsan_frame(std::string_view pattern, const Frame& frame, std::string_view file) {
  return matches_lsan(pattern, frame.function) || matches_lsan(pattern, frame.symbol) ||
         matches_lsan(pattern, frame.module) || matches_lsan(pattern, file) || matches_lsan(pattern, frame.file) ||
         any_alias(frame, [pattern](std::string_view alias) { return matches_lsan(pattern, alias); });
}

}  // namespace

bool matches_wildcards(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.npos;  // the last * passed, and the end of the text that it matched
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches_lsan(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  bool pinned = pattern.starts_with('^');
  if (pinned) pattern.remove_prefix(1);
  // $ ends the pattern at any place.
  const size_t dollar = pattern.find('$');
  const bool pinned_end = dollar != pattern.npos;
  pattern = pattern.substr(0, dollar);
  while (true) {
    const size_t star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    if (star == pattern.npos && pinned_end) return pinned ? text == piece : text.ends_with(piece);
    const size_t at = text.find(piece);
    if (at == text.npos || (pinned && at != 0)) return false;
    if (star == pattern.npos) return true;
    text.remove_prefix(at + piece.size());
    pattern.remove_prefix(star + 1);
    pinned = false;
  }
}

bool matches(const Suppression& suppression, const NamedStack& stack) {
  if (suppression.lsan_pattern.empty()) {
    const auto ways = called_frames(stack.function);
    return std::ranges::any_of(
        ways, [&](const std::vector<Frame>& called) { return matches_valgrind(suppression, called, stack); });
  }
  const std::string_view pattern = suppression.lsan_pattern;
  return matches_lsan_frame(pattern, called_frame(wire::facts_of(stack.function).symbol), "") ||
         std::ranges::any_of(stack.frames, [&](const Frame& frame) {
           return matches_lsan_frame(pattern, frame, stack.file_of(frame));
         });
}

bool is_in_every_stack(std::string_view function) {
  return is_below_main(function) || std::ranges::find(kInEveryStack, function) != kInEveryStack.end();
}

bool hides_everything(const Suppression& suppression) {
  if (!suppression.lsan_pattern.empty()) {
    return std::ranges::any_of(
        kInEveryStack, [&](std::string_view function) { return matches_lsan(suppression.lsan_pattern, function); });
  }
  bool any_frames = false;
  for (const FramePattern& frame : suppression.frames) {
    any_frames = any_frames || frame.rule == FrameRule::kAnyFrames;
    const auto is_allocation = [&](const wire::FunctionFacts& function) {
      return function.symbol[0] != '\0' && matches_wildcards(frame.pattern, function.symbol);
    };
    const bool is_function =
        frame.rule == FrameRule::kFunction &&
        (std::ranges::any_of(kInEveryStack, [&](auto name) { return matches_wildcards(frame.pattern, name); }) ||
         frame.pattern == "(below main)" || std::ranges::any_of(wire::kFunctionFacts, is_allocation));
    if (frame.rule != FrameRule::kAnyFrames && !is_function) return false;
  }
  return any_frames;
}

base::Result<> Suppressions::read(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return add(*text, path);
}

base::Result<> Suppressions::add(std::string_view text, const std::string& file) {
  auto parsed = parse_suppressions(text, file);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  for (Suppression& each : *parsed) list_.push_back(std::move(each));
  texts_.push_back({file, std::string(text)});
  return {};
}

base::Result<> Suppressions::add(const std::vector<model::SuppressionText>& carried) {
  for (const model::SuppressionText& each : carried) {
    if (std::ranges::find(texts_, each) == texts_.end()) HEAPTAP_TRY(add(each.text, each.file));
  }
  return {};
}

std::optional<size_t> Suppressions::find(const NamedStack& stack, leaks::BlockState state) const {
  for (size_t i = 0; i < list_.size(); ++i) {
    if ((list_[i].states & leak_bit(state)) != 0 && matches(list_[i], stack)) return i;
  }
  return std::nullopt;
}

base::Result<Suppressions> read_suppressions(const std::vector<std::string>& paths) {
  Suppressions all;
  for (const std::string& path : paths) {
    if (auto read = all.read(path); !read) {
      return base::fail_as(base::ErrorKind::kUsage, "--suppressions: {}", read.error().message);
    }
  }
  return all;
}

}  // namespace heaptap::query
