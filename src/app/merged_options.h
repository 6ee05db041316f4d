// The options that count: those of the command line, before them those of $HEAPTAP_OPTIONS, and before these those of a
// configuration file. Options that are lists add up; of all others the last one counts.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "app/option_set.h"
#include "app/settings.h"
#include "base/result.h"

namespace heaptap::app {

struct MergedOptions {
  std::vector<std::string> words;  // for the parser
  std::vector<Setting> settings;   // that are among them; each has a value or none, and its option's long name
  std::vector<std::string> given;  // long names of the options that the command line has
};

// `arguments`: a command's, as far as they are its own.
base::Result<MergedOptions> merge_options(const OptionSet& set, const std::vector<std::string>& arguments,
                                          const Defaults& defaults);

// Where the option stands that the parser's message is about; empty: on the command line.
std::string place_of(const std::string& message, const MergedOptions& merged);

// Whether the option `argument` has its value in the next argument.
bool value_follows(const OptionSet& set, const std::string& argument);

// A value of --ignore that says where it stands.
std::string placed_value(const Setting& setting);
// The value, and the place; of what is on the command line that is `by_default`.
std::pair<std::string, std::string> value_and_place(const std::string& word, const std::string& by_default);

}  // namespace heaptap::app
