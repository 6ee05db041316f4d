// Effective options, in ascending precedence: configuration file, $HEAPTAP_OPTIONS, command line. Lists are concatenated; otherwise
// the last value wins.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "apps/heaptap/options/option_set.h"
#include "apps/heaptap/options/settings.h"
#include "common/base/result.h"

namespace heaptap::app {

struct MergedOptions {
  std::vector<std::string> words;  // for the option parser
  std::vector<Setting> settings;   // contained in `words`, with full option names and values where needed
  std::vector<std::string> given;  // long names of options on the command line
};

// `arguments`: a command's own.
base::Result<MergedOptions> merge_options(const OptionSet& set, const std::vector<std::string>& arguments,
                                          const Defaults& defaults);

// Source of the option that a parser error is about; empty: the command line.
std::string place_of(const std::string& message, const MergedOptions& merged);

// Whether the option's value is the next argument.
bool value_follows(const OptionSet& set, const std::string& argument);

// Value of --ignore tagged with its source.
std::string placed_value(const Setting& setting);
// Value and source; for one from the command line, `by_default`.
std::pair<std::string, std::string> value_and_place(const std::string& word, const std::string& by_default);

}  // namespace heaptap::app
