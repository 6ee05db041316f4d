// Options that aren't on the command line: those of a configuration file and of $HEAPTAP_OPTIONS.
//
//   # comment                 the line begins with it
//   depth 30                  as --depth 30; also depth=30, --depth=30, -d 30
//   full-names                as --full-names; also full-names=true
//   ignore libGL\.so          as --ignore 'libGL\.so': the value is the rest of the line
//   [diff]                    what follows counts for `heaptap diff` alone
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptap::app {

struct Setting {
  std::string name;  // "--depth", "-d"
  std::optional<std::string> value;
  std::string place;    // "heaptap.conf:3", "$HEAPTAP_OPTIONS"
  std::string command;  // for which it counts; empty: all
};

// Where such options are when nobody names a file. By default nowhere.
struct Defaults {
  struct File {
    std::string path;
    bool is_local = false;  // of the working directory, which may be anybody's
  };
  std::vector<File> files;  // of which the first counts that is there, and can be trusted
  std::string options;      // text of $HEAPTAP_OPTIONS
  // What is said of a file that isn't read.
  std::function<void(const std::string& text)> warn = {};

  // ./.heaptap, $XDG_CONFIG_HOME/heaptap/config, /etc/heaptap.conf.
  static Defaults of_environment();
};

// Of a file that the user names; of the first default one, where there is one. What is wrong is told with its line.
base::Result<std::vector<Setting>> read_settings(const std::string& path);
base::Result<std::vector<Setting>> read_default_settings(const Defaults& defaults);

// A file's text; `file` is its name for messages.
base::Result<std::vector<Setting>> parse_settings(std::string_view text, const std::string& file);

// Whether the option would make heaptap write a file, act on something, ask the network, or hand on what it reads: nothing that
// the file of a directory may do that somebody may have made for the user.
bool is_for_users_alone(const Setting& setting);

// The words of a text as a shell takes them apart: between blanks, with quotes and backslashes.
base::Result<std::vector<std::string>> split_words(std::string_view text);

// Words as on a command line. `takes_value`: of an option by its name with dashes.
base::Result<std::vector<Setting>> settings_of_words(const std::vector<std::string>& words, const std::string& place,
                                                     const std::function<bool(const std::string&)>& takes_value);

}  // namespace heaptap::app
