// Options and arguments of one command: names, values, targets, help, and parsing. Only option_set.cc includes the parser (CLI11), which
// is slow to compile.
//
//   OptionSet set("report", "Write a report", "heaptap report [TRACE] [options]");
//   set.positional("TRACE", trace, "The trace");
//   set.group(OptionGroup::kOutput);
//   set.text("-o,--output", file, "The file").value_name("FILE");
//   const auto outcome = set.parse({"-o", "x.html", "a.htap"});
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/heaptap/options/known_option.h"
#include "common/base/result.h"

namespace heaptap::app {

struct OptionState;

// Handle of an option, valid as long as its OptionSet. Copies refer to the same option, so all methods are const.
class Option {
 public:
  // Name of its value in the help.
  Option value_name(const std::string& name) const;
  Option help(const std::string& text) const;
  // Values to offer in completions. Others may be valid too.
  Option offer(const std::vector<std::string>& words) const;
  // List option: one argument may hold several values, with this separator.
  Option separated_by(char separator) const;
  // Validates each value.
  Option check(std::function<base::Result<>(const std::string&)> check) const;
  // Makes the options mutually exclusive.
  Option excludes(const Option& other) const;

  [[nodiscard]] bool is_given() const;
  // False: a flag.
  [[nodiscard]] bool takes_value() const;
  // Flag with an optional value after a "=".
  [[nodiscard]] bool value_may_miss() const;
  // Values of repeated options are collected.
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool has_name(const std::string& name) const;
  // With dashes; empty: it has only short names, or is positional.
  [[nodiscard]] std::vector<std::string> long_names() const;
  [[nodiscard]] bool is_excluded_by(const Option& other) const;

  bool operator==(const Option&) const = default;

 private:
  friend class OptionSet;
  explicit Option(OptionState* state) : state_(state) {}
  OptionState* state_;
};

// Names are comma-separated, with dashes: "-o,--output". Destinations of values must live until parse() returns.
class OptionSet {
 public:
  enum class Outcome : uint8_t { kParsed, kHelpAsked };
  using Parse = std::function<base::Result<>(const std::string& text)>;

  // The command's name, summary and usage.
  OptionSet(const std::string& command, const std::string& summary, const std::string& usage);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  // Sets the group of the options added next.
  void group(OptionGroup group);
  // Options that the help also lists before all groups, by one of their names.
  void most_used(std::vector<std::string> names);
  // Text after the options.
  void footer(const std::string& text);

  Option flag(const std::string& names, bool& value, const std::string& help);
  Option flag(const std::string& names, std::function<void()> given, const std::string& help = "");
  // --NAME or --NAME=VALUE: `left_out` is the value if none is given.
  Option optional_text(const std::string& name, const std::string& left_out, std::string& value,
                       const std::string& help);
  // The same; an error of `parse` is returned by parse(), prefixed with the option's name.
  Option optional_parsed(const std::string& name, const std::string& left_out, Parse parse, const std::string& help);
  Option text(const std::string& names, std::string& value, const std::string& help);
  // An error of `parse` is returned by parse(), prefixed with the option's name.
  Option parsed(const std::string& names, Parse parse, const std::string& help);
  // One of `words`.
  Option choice(const std::string& names, const std::vector<std::string>& words,
                std::function<void(const std::string&)> store, const std::string& help);
  Option size(const std::string& names, uint64_t& bytes, const std::string& help);
  Option size(const std::string& names, std::optional<uint64_t>& bytes, const std::string& help);
  Option duration(const std::string& names, uint64_t& nanoseconds, const std::string& help);
  // Integer.
  template <typename Number>
  Option number(const std::string& names, Number& value, const std::string& help, uint64_t least = 0,
                uint64_t most = 0xffffffff) {
    const auto store = [&value](uint64_t number) { value = static_cast<Number>(number); };
    return any_number(names, store, help, least, most);
  }

  // Repeatable option with one value each time; the help says so.
  Option list(const std::string& names, std::vector<std::string>& values, const std::string& help);
  Option parsed_list(const std::string& names, Parse parse_each, const std::string& help);

  // Positional arguments, in the order of these calls; one, or all remaining.
  Option positional(const std::string& name, std::string& value, const std::string& help);
  Option positional(const std::string& name, std::vector<std::string>& values, const std::string& help);

  // Stores the values. The error is without the command's name.
  [[nodiscard]] base::Result<Outcome> parse(const std::vector<std::string>& words);
  // Available once parse() was called.
  [[nodiscard]] std::string help(size_t width) const;
  [[nodiscard]] std::vector<KnownOption> known_options() const;

  [[nodiscard]] std::string command() const;
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] std::string usage() const;
  // By any of its names, with dashes.
  [[nodiscard]] std::optional<Option> find(const std::string& name) const;
  // False also if there is no such option.
  [[nodiscard]] bool is_given(const std::string& name) const;

 private:
  struct Parser;

  Option any_number(const std::string& names, std::function<void(uint64_t)> store, const std::string& help,
                    uint64_t least, uint64_t most);

  std::unique_ptr<Parser> parser_;
};

}  // namespace heaptap::app
