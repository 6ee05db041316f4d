#include "apps/heaptap/options/settings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {
namespace {

constexpr size_t kMaxFileBytes = 256 << 10;
constexpr size_t kMaxSettings = 2000;  // the time to parse options grows with the square of their number
constexpr size_t kMaxShown = 60;       // of a line, in a message
constexpr std::string_view kBlanks = " \t\r\v\f";

std::unexpected<base::Error> wrong(std::string_view place, const std::string& reason) {
  return base::fail_as(base::ErrorKind::kUsage, "{}: {}", base::safe_text(place), reason);
}

std::string shown(std::string_view text) {
  return base::safe_text(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "..." : "");
}

bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '-';
}

// Without the quotes around all of it.
std::string_view unquoted(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                         text.find(text.front(), 1) == text.size() - 1;
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

base::Result<Setting> setting_of_line(std::string_view line, const std::string& place) {
  const auto* const name_end = std::ranges::find_if_not(line, is_name_character);
  const std::string_view name = line.substr(0, static_cast<size_t>(name_end - line.begin()));
  std::string_view rest = line.substr(name.size());
  const bool is_separated = rest.empty() || rest.front() == '=' || kBlanks.find(rest.front()) != kBlanks.npos;
  const size_t letters = name.find_first_not_of('-');
  if (!is_separated || letters == name.npos || letters > 2) {
    return wrong(place, fmt::format("'{}' is not an option: write it like depth 30, depth=30 or full-names; a line "
                                    "that starts with # is a comment",
                                    shown(line)));
  }
  Setting setting{.name = std::string(name), .value = {}, .place = place, .command = {}};
  if (letters == 0) setting.name.insert(0, "--");
  rest = base::trimmed(rest);
  const bool has_equals = rest.starts_with('=');
  if (has_equals) rest = base::trimmed(rest.substr(1));
  if (has_equals || !rest.empty()) setting.value = unquoted(rest);
  return setting;
}

// "[diff]".
base::Result<std::string> section_of(std::string_view line, const std::string& place) {
  const std::string_view name = base::trimmed(line.substr(1, line.find(']') - 1));
  if (!line.ends_with(']') || name.empty() || !std::ranges::all_of(name, is_name_character)) {
    return wrong(place, fmt::format("'{}' is not a command's section: write it like [diff]", shown(line)));
  }
  return std::string(name);
}

base::Result<std::string> read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 1 << 14> buffer;
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return wrong(path, "the configuration can't be read: " + base::reason_of(errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kMaxFileBytes)
      return wrong(path, fmt::format("it is too large: more than {} KiB", kMaxFileBytes >> 10));
  }
}

std::string owner_of(uid_t user) { return user == 0 ? "root" : fmt::format("user {}", user); }
std::string trusted_owners() { return geteuid() == 0 ? "root" : owner_of(geteuid()) + " or root"; }

// Reason why another user may have written it; empty: only the user and root.
std::string distrust_of(const struct stat& status) {
  const uid_t user = geteuid();
  if (status.st_uid != user && status.st_uid != 0)
    return fmt::format("it belongs to {}, not to {}", owner_of(status.st_uid), trusted_owners());
  if ((status.st_mode & S_IWOTH) != 0) return "it is writable by everybody";
  // A group with the user's name is usual, and permitted.
  if ((status.st_mode & S_IWGRP) != 0 && status.st_gid != getegid() && status.st_gid != 0)
    return fmt::format("it is writable by the group {}", status.st_gid);
  return {};
}

struct Opened {
  base::UniqueFd descriptor;  // none: missing, or not read
  std::string distrust;       // why not
};

Opened open_default(const std::string& path) {
  struct stat link{};
  if (lstat(path.c_str(), &link) != 0) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return {{}, is_missing ? "" : base::reason_of(errno)};
  }
  if (S_ISLNK(link.st_mode)) {
    const uid_t user = geteuid();
    if (link.st_uid != user && link.st_uid != 0)
      return {{}, fmt::format("it is a symbolic link of {}, not of {}", owner_of(link.st_uid), trusted_owners())};
  }
  base::UniqueFd descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!descriptor) return {{}, errno == ENOENT ? "" : base::reason_of(errno)};
  struct stat status{};
  if (fstat(descriptor.get(), &status) != 0) return {{}, base::reason_of(errno)};
  if (!S_ISREG(status.st_mode)) return {{}, "it is not a regular file"};
  if (std::string distrust = distrust_of(status); !distrust.empty()) return {{}, std::move(distrust)};
  return {std::move(descriptor), ""};
}

base::Result<> check_local(const std::vector<Setting>& settings, const std::string& path) {
  for (const Setting& setting : settings) {
    if (!is_for_users_alone(setting)) continue;
    return wrong(
        setting.place,
        fmt::format("{} is not accepted from a file in the working directory, which anybody may have written: put it "
                    "into ~/.config/heaptap/config or on the command line, or name the file with --config {}",
                    setting.name, path));
  }
  return {};
}

}  // namespace

Defaults Defaults::of_environment() {
  Defaults defaults;
  defaults.files.push_back({.path = ".heaptap", .is_local = true});
  const char* const config = secure_getenv("XDG_CONFIG_HOME");
  const char* const home = secure_getenv("HOME");
  // The XDG Base Directory Specification says to ignore a relative one.
  if (config != nullptr && *config == '/') {
    defaults.files.push_back({.path = std::string(config) + "/heaptap/config"});
  } else if (home != nullptr && *home == '/') {
    defaults.files.push_back({.path = std::string(home) + "/.config/heaptap/config"});
  }
  defaults.files.push_back({.path = "/etc/heaptap.conf"});
  if (const char* const options = secure_getenv("HEAPTAP_OPTIONS"); options != nullptr) defaults.options = options;
  return defaults;
}

base::Result<std::vector<Setting>> parse_settings(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Setting> settings;
  std::string command;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = base::trimmed(text.substr(0, text.find('\n')));
    const std::string place = fmt::format("{}:{}", file, number);
    text.remove_prefix(std::min(text.size(), text.find('\n') == text.npos ? text.size() : text.find('\n') + 1));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find('\0') != line.npos) return wrong(place, "it contains a NUL byte");
    if (line.starts_with('[')) {
      auto section = section_of(line, place);
      if (!section) return std::unexpected(std::move(section).error());
      command = *std::move(section);
      continue;
    }
    auto setting = setting_of_line(line, place);
    if (!setting) return std::unexpected(std::move(setting).error());
    setting->command = command;
    if (settings.size() == kMaxSettings) return wrong(place, fmt::format("more than {} options", kMaxSettings));
    settings.push_back(*std::move(setting));
  }
  return settings;
}

base::Result<std::vector<Setting>> read_settings(const std::string& path) {
  const base::UniqueFd descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!descriptor)
    return base::fail_as(base::ErrorKind::kUsage, "--config: can't read the file {}: {}", base::safe_text(path),
                         base::reason_of(errno));
  const auto text = read_all(descriptor.get(), path);
  if (!text) return std::unexpected(text.error());
  return parse_settings(*text, path);
}

base::Result<std::vector<Setting>> read_default_settings(const Defaults& defaults) {
  for (const Defaults::File& file : defaults.files) {
    const Opened opened = open_default(file.path);
    if (!opened.distrust.empty() && defaults.warn) {
      const std::string path = base::safe_text(file.path);
      defaults.warn(
          fmt::format("{} is not read: {}; `--config {}` reads it, `--no-config` none", path, opened.distrust, path));
    }
    if (!opened.descriptor) continue;
    const auto text = read_all(opened.descriptor.get(), file.path);
    if (!text) return std::unexpected(text.error());
    auto settings = parse_settings(*text, file.path);
    if (settings && file.is_local) HEAPTAP_TRY(check_local(*settings, file.path));
    return settings;
  }
  return std::vector<Setting>();
}

bool is_for_users_alone(const Setting& setting) {
  constexpr std::array<std::string_view, 19> kNames{"--output",
                                                    "-o",
                                                    "--force",
                                                    "--env",
                                                    "-E",
                                                    "--user",
                                                    "--pid",
                                                    "-p",
                                                    "--open",
                                                    "--source",
                                                    "--html",
                                                    "--debuginfod",
                                                    "--report-signal",
                                                    "--symbols-server",
                                                    "--token-file",
                                                    "--push",
                                                    "--push-token-file",
                                                    "--push-token-in-clear",
                                                    "--push-ca"};
  return std::ranges::find(kNames, setting.name) != kNames.end() || (setting.name == "--json" && setting.value);
}

base::Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  for (size_t at = 0; at < text.size(); ++at) {
    const char next = text[at];
    if (kBlanks.find(next) != kBlanks.npos || next == '\n') {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    if (next == '\\') {
      if (++at == text.size()) return base::fail("nothing follows its last backslash");
      *word += text[at];
    } else if (next == '\'' || next == '"') {
      for (++at; at < text.size() && text[at] != next; ++at) {
        const bool is_escape =
            next == '"' && text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\');
        if (is_escape) ++at;
        *word += text[at];
      }
      if (at == text.size()) return base::fail("unterminated quote {}", next);
    } else {
      *word += next;
    }
  }
  if (word) words.push_back(*std::move(word));
  return words;
}

base::Result<std::vector<Setting>> settings_of_words(const std::vector<std::string>& words, const std::string& place,
                                                     const std::function<bool(const std::string&)>& takes_value) {
  std::vector<Setting> settings;
  const auto add = [&](std::string name, std::optional<std::string> value) {
    settings.push_back({.name = std::move(name), .value = std::move(value), .place = place, .command = {}});
  };
  for (size_t index = 0; index < words.size(); ++index) {
    const std::string& word = words[index];
    const auto next_word = [&]() -> std::optional<std::string> {
      return index + 1 < words.size() ? std::optional(words[++index]) : std::nullopt;
    };
    if (settings.size() >= kMaxSettings) return wrong(place, fmt::format("more than {} options", kMaxSettings));
    if (!word.starts_with('-') || word == "-" || word == "--")
      return wrong(place, fmt::format("'{}' is not an option: options begin with -", shown(word)));
    if (word.starts_with("--")) {
      const size_t equals = word.find('=');
      std::string name = word.substr(0, equals);
      if (equals != word.npos)
        add(std::move(name), word.substr(equals + 1));
      else if (takes_value(name))
        add(std::move(name), next_word());
      else
        add(std::move(name), std::nullopt);
      continue;
    }
    // "-qn5": letters, of which the last one may have a value.
    for (size_t letter = 1; letter < word.size(); ++letter) {
      std::string name{'-', word[letter]};
      const bool has_value = takes_value(name);
      if (!has_value) {
        add(std::move(name), std::nullopt);
        continue;
      }
      add(std::move(name), letter + 1 < word.size() ? std::optional(word.substr(letter + 1)) : next_word());
      break;
    }
  }
  return settings;
}

}  // namespace heaptap::app
