// `set` of the console: its settings, and the recording's stack depth.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "apps/heaptap/console/console_commands.h"
#include "apps/heaptap/options/command_options.h"
#include "common/base/safe_text.h"
#include "common/base/whole_number.h"

namespace heaptap::app {
namespace {

using shell::Words;

struct ConsoleSetting {
  std::string name;
  std::string value;  // the current value
  base::Result<> (*set)(ConsoleSession& session, const std::string& word);
};

base::Result<uint32_t> parse_number(const std::string& word) {
  if (const auto number = base::whole_number<uint32_t>(word)) return *number;
  return base::fail_as(base::ErrorKind::kUsage, "'{}' is not a number", base::safe_text(word));
}

base::Result<> set_depth(ConsoleSession& session, const std::string& word) {
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto depth = parse_number(word);
  if (!depth) return std::unexpected(depth.error());
  const auto control = client::control_of(**recording, "set depth");
  if (!control) return std::unexpected(control.error());
  return (*control)->set_depth(*depth);
}

base::Result<> set_frames(ConsoleSession& session, const std::string& word) {
  const auto frames = parse_number(word == "all" ? "0" : word);
  if (!frames) return std::unexpected(frames.error());
  session.settings.frames = *frames;
  return {};
}

base::Result<> set_count(ConsoleSession& session, const std::string& word) {
  const auto count = parse_number(word == "default" ? "0" : word);
  if (!count) return std::unexpected(count.error());
  session.settings.count = *count;
  return {};
}

base::Result<> set_sort(ConsoleSession& session, const std::string& word) {
  session.settings.sort.reset();
  if (word == "default") return {};
  const auto key = query::parse_sort_key(word);
  if (!key) return base::fail_as(base::ErrorKind::kUsage, "{}", key.error().message);
  session.settings.sort = *key;
  return {};
}

base::Result<> set_skip(ConsoleSession& session, const std::string& word) {
  if (word == "none") {
    session.settings.skip.clear();
    return {};
  }
  const auto checked = parse_show({"--skip", word}, {});
  if (!checked) return std::unexpected(checked.error());
  session.settings.skip.push_back(word);
  return {};
}

base::Result<> set_search_path(ConsoleSession& session, const std::string& word) {
  std::vector<std::string> directories;
  for (size_t at = 0; at < word.size() && word != "none";) {
    const size_t end = std::min(word.find(':', at), word.size());
    if (end > at) directories.push_back(word.substr(at, end - at));
    at = end + 1;
  }
  session.settings.search_path = std::move(directories);
  return {};
}

base::Result<> set_process(ConsoleSession& session, const std::string& word) {
  if (word == "all") {
    session.settings.process = 0;
    return {};
  }
  const auto pid = parse_pid(word);
  if (!pid) return std::unexpected(pid.error());
  const Words known = session.pids();
  if (std::ranges::find(known, word) == known.end()) {
    return base::fail_as(base::ErrorKind::kUsage, "no process {} in this recording: {}", word,
                         known.empty() ? "it has none" : fmt::format("{}", fmt::join(known, ", ")));
  }
  session.settings.process = *pid;
  return {};
}

base::Result<> set_image(ConsoleSession& session, const std::string& word) {
  if (word == "last") {
    session.settings.image = 0;
    return {};
  }
  const auto image = parse_number(word);
  if (!image) return std::unexpected(image.error());
  const auto recording = session.recording();
  if (!recording) return std::unexpected(recording.error());
  const auto processes = (*recording)->processes();
  if (!processes) return std::unexpected(processes.error());
  const uint32_t pid = session.settings.process;
  const bool is_known = std::ranges::any_of(*processes, [&](const client::Process& process) {
    return process.image == *image && (pid == 0 || process.pid == pid);
  });
  if (!is_known) {
    return base::fail_as(base::ErrorKind::kUsage, "no image {} in this recording: `processes` lists the images",
                         *image);
  }
  session.settings.image = *image;
  return {};
}

base::Result<> set_pager(ConsoleSession& session, const std::string& word) {
  if (word != "on" && word != "off") return base::fail_as(base::ErrorKind::kUsage, "set pager: on or off");
  session.settings.pager = word == "on";
  return {};
}

base::Result<> set_color(ConsoleSession& session, const std::string& word) {
  const auto parsed = parse_show({"--color", word}, {});
  if (!parsed) return std::unexpected(parsed.error());
  session.settings.color = std::get<ShowOptions>(*parsed).color;
  return {};
}

std::string color_text(ColorMode mode) {
  return mode == ColorMode::kAuto ? "auto" : mode == ColorMode::kAlways ? "always" : "never";
}

std::string depth_text(ConsoleSession& session) {
  const auto recording = session.recording();
  if (!recording || !(*recording)->is_live()) return "not known";
  const auto settings = (*recording)->settings();
  if (!settings) return "not known";
  return settings->depth == 0 ? "0 (all frames)" : std::to_string(settings->depth);
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  return words.empty() ? "none" : base::safe_text(fmt::format("{}", fmt::join(words, between)));
}

std::vector<ConsoleSetting> settings_of(ConsoleSession& session) {
  const ConsoleSettings& set = session.settings;
  return {{"depth", depth_text(session), set_depth},
          {"process", set.process == 0 ? "all" : std::to_string(set.process), set_process},
          {"image", set.image == 0 ? "last" : std::to_string(set.image), set_image},
          {"sort", set.sort ? std::string(query::name_of(*set.sort)) : "default", set_sort},
          {"count", set.count == 0 ? "default" : std::to_string(set.count), set_count},
          {"frames", set.frames == 0 ? "all" : std::to_string(set.frames), set_frames},
          {"skip", joined(set.skip, ", "), set_skip},
          {"searchpath", joined(set.search_path, ":"), set_search_path},
          {"pager", set.pager ? "on" : "off", set_pager},
          {"color", color_text(set.color), set_color}};
}

constexpr std::array<const char*, 10> kNames{"depth",  "process", "image",      "sort",  "count",
                                             "frames", "skip",    "searchpath", "pager", "color"};

base::Result<> set(ConsoleSession& session, const Words& arguments) {
  if (arguments.empty()) {
    std::string text;
    for (const ConsoleSetting& setting : settings_of(session))
      text += fmt::format("{:<11} {}\n", setting.name, setting.value);
    return session.print(text);
  }
  const auto name = shell::whole_name(arguments.front(), {kNames.begin(), kNames.end()}, "setting");
  if (!name) return std::unexpected(name.error());
  const auto settings = settings_of(session);
  const auto setting = std::ranges::find(settings, *name, &ConsoleSetting::name);
  if (arguments.size() == 1) return session.print(setting->value + "\n");
  if (arguments.size() > 2) {
    return base::fail_as(base::ErrorKind::kUsage, "set {}: expected one value; quote it if it has spaces", *name);
  }
  return setting->set(session, arguments[1]);
}

Words set_words(ConsoleSession& session, const Words& arguments) {
  if (arguments.empty()) return {kNames.begin(), kNames.end()};
  const auto name = shell::whole_name(arguments.front(), {kNames.begin(), kNames.end()}, "setting");
  if (!name || arguments.size() > 1) return {};
  Words words;
  if (*name == "process") (words = session.pids()).emplace_back("all");
  if (*name == "sort") (words = query::sort_key_names()).emplace_back("default");
  if (*name == "pager") words = {"on", "off"};
  if (*name == "color") words = {"auto", "always", "never"};
  return words;
}

}  // namespace

std::vector<shell::Command> settings_commands(ConsoleSession& session) {
  return {
      {.name = "set",
       .usage = "set [NAME [VALUE]]",
       .summary = "show or change settings",
       .help = "  depth N: record at most N frames of a stack from now on (0: all). process PID|all: the default "
               "process.\n  image N|last: which program to show of a process that executed several.\n"
               "  sort KEY, count N, frames N, color WHEN: as `show --sort`, -n, --depth and --color.\n"
               "  skip FUNCTION, again for more; `skip none`. searchpath DIR[:DIR]: where debug information is.\n"
               "  pager on|off.\n",
       .run = [&session](const Words& words) { return set(session, words); },
       .complete = [&session](const Words& words, const std::string&) { return set_words(session, words); }},
  };
}

}  // namespace heaptap::app
