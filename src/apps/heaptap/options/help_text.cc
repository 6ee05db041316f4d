#include "apps/heaptap/options/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "views/text/fold.h"

namespace heaptap::app {
namespace {

constexpr size_t kColumn = 28;  // column of descriptions; less if lines are short
constexpr size_t kGap = 2;

std::string value_of(const KnownOption& option) {
  if (option.value.empty()) return "";
  if (!option.value_may_miss) return " " + option.value;
  return option.words.empty() ? fmt::format("[={}]", option.value) : fmt::format("[={}]", fmt::join(option.words, "|"));
}

std::string name_of(const KnownOption& option) {
  if (option.names.empty()) return option.value;
  return fmt::format("{}{}", fmt::join(option.names, ", "), value_of(option));
}

// A name longer than the column of descriptions has its own line.
std::string row_of(const KnownOption& option, size_t column) {
  const std::string name = fmt::format("{:{}}{}", "", kGap, name_of(option));
  if (name.size() + kGap <= column) return fmt::format("{:<{}}{}\n", name, column, option.help);
  return fmt::format("{}\n{:{}}{}\n", name, "", column, option.help);
}

using Options = std::vector<KnownOption>;

std::string section(std::string_view heading, const Options& options, size_t column) {
  if (options.empty()) return "";
  std::string text = fmt::format("\n{}:\n", heading);
  for (const KnownOption& option : options) text += row_of(option, column);
  return text;
}

Options most_used(const CommandHelp& help) {
  Options options;
  for (const std::string& name : help.most_used) {
    const auto has_name = [&](const KnownOption& option) {
      return std::ranges::find(option.names, name) != option.names.end();
    };
    const auto found = std::ranges::find_if(help.options, has_name);
    if (found != help.options.end()) options.push_back(*found);
  }
  return options;
}

Options positionals(const CommandHelp& help) {
  Options options;
  std::ranges::copy_if(help.options, std::back_inserter(options), [](const auto& each) { return each.names.empty(); });
  return options;
}

Options options_of(const CommandHelp& help, OptionGroup group) {
  Options options;
  std::ranges::copy_if(help.options, std::back_inserter(options),
                       [&](const auto& each) { return !each.names.empty() && each.group == group; });
  return options;
}

}  // namespace

std::string help_text(const CommandHelp& help, size_t width) {
  const size_t column = std::min(kColumn, width * 2 / 5);
  std::string text = fmt::format("{}\n\nUsage: {}\n", help.summary, help.usage);
  text += section("Arguments", positionals(help), column);
  text += section("Most used", most_used(help), column);
  for (size_t group = 0; group < kOptionGroupNames.size(); ++group) {
    text += section(kOptionGroupNames[group], options_of(help, static_cast<OptionGroup>(group)), column);
  }
  if (!help.footer.empty()) text += "\n" + help.footer;
  if (!text.ends_with('\n')) text += '\n';
  return text::folded(text, width);
}

}  // namespace heaptap::app
