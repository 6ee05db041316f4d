#include "apps/heaptap/commands/source_editor.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string_view>

#include "apps/heaptap/commands/other_program.h"
#include "apps/heaptap/options/settings.h"
#include "common/base/safe_text.h"
#include "common/base/signal_names.h"
#include "common/base/wait_status.h"

namespace heaptap::app {
namespace {

constexpr std::array<std::string_view, 5> kOfVisualStudio{"code", "code-insiders", "codium", "cursor", "windsurf"};
constexpr std::array<std::string_view, 6> kBehindColons{"subl", "sublime_text", "zed", "zeditor", "hx", "helix"};
constexpr std::array<std::string_view, 18> kByPlus{"vi",    "vim",   "nvim",        "gvim", "view",  "ed",
                                                   "ex",    "emacs", "emacsclient", "nano", "pico",  "joe",
                                                   "micro", "mg",    "kak",         "ne",   "gedit", "jed"};
constexpr std::array<std::string_view, 24> kOfSources{"c",   "cc",  "cpp", "cxx", "c++", "h",   "hh",  "hpp",
                                                      "hxx", "h++", "inl", "ipp", "tcc", "def", "rs",  "go",
                                                      "d",   "zig", "m",   "mm",  "f",   "f90", "adb", "s"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

base::Result<std::vector<std::string>> editor_arguments(const std::string& editor, const SourceLine& place) {
  auto words = split_words(editor);
  if (!words) return base::fail("--open: the editor '{}': {}", base::safe_text(editor), words.error().message);
  const std::string with_line = fmt::format("{}:{}", place.path, place.line);
  const std::string with_column = place.column == 0 ? with_line : fmt::format("{}:{}", with_line, place.column);
  if (words->empty()) {
    const size_t dot = place.path.rfind('.');
    std::string ending = dot == std::string::npos ? "" : place.path.substr(dot + 1);
    std::ranges::transform(ending, ending.begin(),
                           [](char each) { return each >= 'A' && each <= 'Z' ? each - 'A' + 'a' : each; });
    if (!contains(kOfSources, ending)) {
      return base::fail(
          "--open: {} isn't called as sources are: open it with an editor, which $VISUAL or $EDITOR names",
          base::safe_text(place.path));
    }
    return std::vector<std::string>{"xdg-open", place.path};
  }
  const std::string program = words->front().substr(words->front().rfind('/') + 1);
  if (contains(kOfVisualStudio, program)) {
    words->insert(words->end(), {"--goto", with_column});
  } else if (contains(kBehindColons, program)) {
    words->push_back(with_column);
  } else if (contains(kByPlus, program)) {
    words->insert(words->end(), {fmt::format("+{}", place.line), place.path});
  } else {
    words->push_back(place.path);
  }
  return words;
}

base::Result<> open_in_editor(const SourceLine& place) {
  struct stat status{};
  if (!place.path.starts_with('/') || stat(place.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return base::fail("--open: {} is not a file of this machine", base::safe_text(place.path));
  const std::string visual = variable("VISUAL");
  const std::string editor = visual.empty() ? variable("EDITOR") : visual;
  auto words = editor_arguments(editor, place);
  if (!words) return std::unexpected(std::move(words).error());
  const bool is_editor = !editor.empty();
  const auto process = start_program(*words, is_editor);
  const std::string program = base::safe_text(words->front());
  if (!process) {
    return base::fail("--open: can't start {}: {}; $VISUAL or $EDITOR names an editor", program,
                      base::reason_of(process.error()));
  }
  const base::WaitStatus ended = is_editor ? base::wait_for(*process).value_or(base::WaitStatus()) : base::WaitStatus();
  if (ended.was_killed())
    return base::fail("--open: {} was killed by SIG{}", program, base::signal_name(ended.end_signal()));
  if (ended.exit_code() != 0) return base::fail("--open: {} exited with {}", program, ended.exit_code());
  return {};
}

}  // namespace heaptap::app
