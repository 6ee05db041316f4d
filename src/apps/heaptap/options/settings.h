// Options from a configuration file and from $HEAPTAP_OPTIONS.
//
//   # comment                 only at the start of a line
//   depth 30                  as --depth 30; also depth=30, --depth=30, -d 30
//   full-names                as --full-names; also full-names=true
//   ignore libGL\.so          as --ignore 'libGL\.so': the value is the rest of the line
//   [diff]                    what follows applies to `heaptap diff` only
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace heaptap::app {

struct Setting {
  std::string name;  // "--depth", "-d"
  std::optional<std::string> value;
  std::string place;    // "heaptap.conf:3", "$HEAPTAP_OPTIONS"
  std::string command;  // command it applies to; empty: all
};

// Default sources of options, if the user names no file. Empty unless set.
struct Defaults {
  struct File {
    std::string path;
    bool is_local = false;  // of the working directory, so untrusted
  };
  std::vector<File> files;  // the first one that exists and is trusted is used
  std::string options;      // text of $HEAPTAP_OPTIONS
  // Called about a file that is skipped.
  std::function<void(const std::string& text)> warn = {};

  // ./.heaptap, $XDG_CONFIG_HOME/heaptap/config, /etc/heaptap.conf.
  static Defaults of_environment();
};

// From a file named by the user; from the first usable default file, if any. Errors name the line.
base::Result<std::vector<Setting>> read_settings(const std::string& path);
base::Result<std::vector<Setting>> read_default_settings(const Defaults& defaults);

// Parses a file's text; `file` is its name for messages.
base::Result<std::vector<Setting>> parse_settings(std::string_view text, const std::string& file);

// Whether the option makes heaptap write a file, perform an action, use the network, or pass on data: forbidden in a working
// directory's file, which someone else may have made.
bool is_for_users_alone(const Setting& setting);

// Splits a text into words as a shell does: at blanks, with quotes and backslashes.
base::Result<std::vector<std::string>> split_words(std::string_view text);

// Parses words as on a command line. `takes_value`: by an option's name with dashes.
base::Result<std::vector<Setting>> settings_of_words(const std::vector<std::string>& words, const std::string& place,
                                                     const std::function<bool(const std::string&)>& takes_value);

}  // namespace heaptap::app
