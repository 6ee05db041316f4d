// The options and arguments of one command: their names, what their values are and where these go, the help on them, and the
// parsing. option_set.cc alone knows the parser (CLI11), which takes the compiler long.
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

#include "app/known_option.h"
#include "base/result.h"

namespace heaptap::app {

struct OptionState;

// One of an OptionSet, and valid as long as that is. Copies are the same option, which is why all methods are const.
class Option {
 public:
  // What its value is called in the help.
  Option value_name(const std::string& name) const;
  Option help(const std::string& text) const;
  // These words are values of it, which completions offer. Whether others are, too, is another matter.
  Option offer(const std::vector<std::string>& words) const;
  // Of a list: one value may be several, with this between them.
  Option separated_by(char separator) const;
  // Each value has to pass this.
  Option check(std::function<base::Result<>(const std::string&)> check) const;
  // Not both of them may be given.
  Option excludes(const Option& other) const;

  [[nodiscard]] bool is_given() const;
  // All others are flags.
  [[nodiscard]] bool takes_value() const;
  // A flag that may have a value behind a "=".
  [[nodiscard]] bool value_may_miss() const;
  // Values of several times that it is given add up.
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool has_name(const std::string& name) const;
  // With their dashes; none: it has short ones alone, or is positional.
  [[nodiscard]] std::vector<std::string> long_names() const;
  [[nodiscard]] bool is_excluded_by(const Option& other) const;

  bool operator==(const Option&) const = default;

 private:
  friend class OptionSet;
  explicit Option(OptionState* state) : state_(state) {}
  OptionState* state_;
};

// Names are comma-separated, with their dashes: "-o,--output". What values are stored in has to live until parse() returns.
class OptionSet {
 public:
  enum class Outcome : uint8_t { kParsed, kHelpAsked };
  using Parse = std::function<base::Result<>(const std::string& text)>;

  // The command's name, what it does, and how it is called.
  OptionSet(const std::string& command, const std::string& summary, const std::string& usage);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  // What options are about that are added from here on.
  void group(OptionGroup group);
  // Options that the help has before all groups as well, by one of their names.
  void most_used(std::vector<std::string> names);
  // Stands below the options.
  void footer(const std::string& text);

  Option flag(const std::string& names, bool& value, const std::string& help);
  Option flag(const std::string& names, std::function<void()> given, const std::string& help = "");
  // --NAME or --NAME=VALUE: `left_out` is the value where none is given.
  Option optional_text(const std::string& name, const std::string& left_out, std::string& value,
                       const std::string& help);
  Option text(const std::string& names, std::string& value, const std::string& help);
  // Its error becomes that of the command line, behind the option's name.
  Option parsed(const std::string& names, Parse parse, const std::string& help);
  // One of the words.
  Option choice(const std::string& names, const std::vector<std::string>& words,
                std::function<void(const std::string&)> store, const std::string& help);
  Option size(const std::string& names, uint64_t& bytes, const std::string& help);
  Option size(const std::string& names, std::optional<uint64_t>& bytes, const std::string& help);
  Option duration(const std::string& names, uint64_t& nanoseconds, const std::string& help);
  // A whole number.
  template <typename Number>
  Option number(const std::string& names, Number& value, const std::string& help, uint64_t least = 0,
                uint64_t most = 0xffffffff) {
    const auto store = [&value](uint64_t number) { value = static_cast<Number>(number); };
    return any_number(names, store, help, least, most);
  }

  // One value for each time that the option is given, which the help says by itself.
  Option list(const std::string& names, std::vector<std::string>& values, const std::string& help);
  Option parsed_list(const std::string& names, Parse parse_each, const std::string& help);

  // What stands without a name, in the order of these calls; one or all that are left.
  Option positional(const std::string& name, std::string& value, const std::string& help);
  Option positional(const std::string& name, std::vector<std::string>& values, const std::string& help);

  // Stores the values. The error is what is wrong with the words, without the command's name.
  [[nodiscard]] base::Result<Outcome> parse(const std::vector<std::string>& words);
  // Once parse() was called.
  [[nodiscard]] std::string help(size_t width) const;
  [[nodiscard]] std::vector<KnownOption> known_options() const;

  [[nodiscard]] std::string command() const;
  [[nodiscard]] std::string summary() const;
  [[nodiscard]] std::string usage() const;
  // By one of its names, with dashes.
  [[nodiscard]] std::optional<Option> find(const std::string& name) const;
  // False if there is no such option, too.
  [[nodiscard]] bool is_given(const std::string& name) const;

 private:
  struct Parser;

  Option any_number(const std::string& names, std::function<void(uint64_t)> store, const std::string& help,
                    uint64_t least, uint64_t most);

  std::unique_ptr<Parser> parser_;
};

}  // namespace heaptap::app
