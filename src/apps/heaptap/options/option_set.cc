#include "apps/heaptap/options/option_set.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "apps/heaptap/options/help_text.h"
#include "common/base/check.h"

namespace heaptap::app {

// Option data that the parser has no field for.
struct OptionState {
  CLI::Option* option;
  OptionGroup group;
  std::vector<std::string> words = {};  // offered by completions
};

namespace {

constexpr const char* kRepeatable = "; repeatable";

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool value_may_miss(const CLI::Option& option) {
  return !takes_value(option) && !option.get_lnames().empty() && option.check_fname(option.get_lnames().front());
}

// Of several options the first one is named: the following ones may have been meant as its values.
std::string cause_of_extras(const std::vector<std::string>& words) {
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); };
  const auto found = std::ranges::find_if(words, is_option);
  if (found == words.end()) return fmt::format("unexpected argument '{}'", words.empty() ? "" : words.front());
  // The parser's rest of -q=3.
  if (found->starts_with("-=")) return fmt::format("unexpected '{}' after a one-letter option", found->substr(1));
  return fmt::format("unknown option {}", *found);
}

// The error in the user's terms.
std::string cause_of(const CLI::ParseError& error, const CLI::App& app) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return cause_of_extras(app.remaining());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string option = message.substr(0, message.find(':'));
    return message.find("required") != std::string::npos ? fmt::format("{} needs a value", option)
                                                         : fmt::format("too many values for {}", option);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const size_t begin = std::min(message.find("--"), message.size());
    return fmt::format("{} takes no value", message.substr(begin, message.find(' ', begin) - begin));
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    constexpr std::string_view kBetween = " excludes ";
    const size_t between = message.find(kBetween);
    return fmt::format("{} and {} can't be given together", message.substr(0, between),
                       message.substr(between + kBetween.size()));
  }
  std::string cause = message;
  std::replace(cause.begin(), cause.end(), '\n', ' ');
  return cause;
}

// For an error of a callback; of "-d,--depth" the name is --depth.
void throw_if_wrong(const base::Result<>& parsed, const std::string& names) {
  if (!parsed) throw CLI::ValidationError(names.substr(names.rfind(',') + 1), parsed.error().message);
}

// One value per option: without this, following words would be values as well.
CLI::Option* as_list(CLI::Option* option) {
  return option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

KnownOption known_option(const OptionState& state) {
  const CLI::Option& option = *state.option;
  KnownOption known{.names = {}, .words = state.words, .group = state.group};
  for (const std::string& name : option.get_snames()) known.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) known.names.push_back("--" + name);
  known.help = option.get_description();
  known.value_may_miss = value_may_miss(option);
  if (known.names.empty()) {
    known.value = option.get_name(true);
  } else if (takes_value(option)) {
    known.value = option.get_type_name();
  } else if (known.value_may_miss) {
    known.value = known.words.empty() ? "FILE" : "WORD";  // the parser has no name for it
  }
  return known;
}

}  // namespace

Option Option::value_name(const std::string& name) const {
  state_->option->type_name(name);
  return *this;
}

Option Option::help(const std::string& text) const {
  state_->option->description(text);
  return *this;
}

Option Option::offer(const std::vector<std::string>& words) const {
  state_->words = words;
  return *this;
}

Option Option::separated_by(char separator) const {
  state_->option->delimiter(separator)->expected(1);
  return *this;
}

Option Option::check(std::function<base::Result<>(const std::string&)> check) const {
  state_->option->check([check = std::move(check)](const std::string& text) {
    const base::Result<> checked = check(text);
    return checked ? std::string() : checked.error().message;
  });
  return *this;
}

Option Option::excludes(const Option& other) const {
  state_->option->excludes(other.state_->option);
  return *this;
}

bool Option::is_given() const { return state_->option->count() > 0; }

bool Option::takes_value() const { return app::takes_value(*state_->option); }

bool Option::value_may_miss() const { return app::value_may_miss(*state_->option); }

bool Option::is_list() const {
  return state_->option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll && takes_value();
}

bool Option::has_name(const std::string& name) const { return state_->option->check_name(name); }

std::vector<std::string> Option::long_names() const {
  std::vector<std::string> names;
  for (const std::string& name : state_->option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool Option::is_excluded_by(const Option& other) const {
  return other.state_->option->get_excludes().contains(state_->option);
}

struct OptionSet::Parser {
  Parser(const std::string& command, std::string what, std::string how)
      : app("", command), summary(std::move(what)), usage(std::move(how)) {}

  CLI::App app;
  std::string summary;
  std::string usage;
  OptionGroup group = OptionGroup::kOther;  // for options added from here on
  std::vector<std::string> most_used = {};
  std::string footer = {};
  std::map<const CLI::Option*, OptionState> states = {};

  OptionState* state_of(CLI::Option* option) {
    return &states.try_emplace(option, OptionState{option, group}).first->second;
  }
};

OptionSet::OptionSet(const std::string& command, const std::string& summary, const std::string& usage)
    : parser_(std::make_unique<Parser>(command, summary, usage)) {
  parser_->app.set_help_flag();  // added by parse(), after all others
}

OptionSet::~OptionSet() = default;

void OptionSet::group(OptionGroup group) { parser_->group = group; }

void OptionSet::most_used(std::vector<std::string> names) {
  for (const std::string& name : names) HEAPTAP_CHECK(find(name).has_value());
  parser_->most_used = std::move(names);
}

void OptionSet::footer(const std::string& text) { parser_->footer = text; }

Option OptionSet::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_flag(names, value, help)));
}

Option OptionSet::flag(const std::string& names, std::function<void()> given, const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_flag_callback(names, std::move(given), help)));
}

Option OptionSet::optional_text(const std::string& name, const std::string& left_out, std::string& value,
                                const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_flag(fmt::format("{}{{{}}}", name, left_out), value, help)));
}

Option OptionSet::optional_parsed(const std::string& name, const std::string& left_out, Parse parse,
                                  const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_flag(fmt::format("{}{{{}}}", name, left_out), help)))
      .check(std::move(parse));
}

Option OptionSet::text(const std::string& names, std::string& value, const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_option(names, value, help)));
}

Option OptionSet::parsed(const std::string& names, Parse parse, const std::string& help) {
  const auto store = [parse = std::move(parse), names](const std::string& text) { throw_if_wrong(parse(text), names); };
  return Option(parser_->state_of(parser_->app.add_option_function<std::string>(names, store, help)));
}

Option OptionSet::list(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return Option(parser_->state_of(as_list(parser_->app.add_option(names, values, help + kRepeatable))));
}

Option OptionSet::parsed_list(const std::string& names, Parse parse_each, const std::string& help) {
  using Words = std::vector<std::string>;
  const auto store = [parse_each = std::move(parse_each), names](const Words& words) {
    for (const std::string& word : words) throw_if_wrong(parse_each(word), names);
  };
  return Option(parser_->state_of(as_list(parser_->app.add_option_function<Words>(names, store, help + kRepeatable))));
}

Option OptionSet::positional(const std::string& name, std::string& value, const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_option(name, value, help)));
}

Option OptionSet::positional(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return Option(parser_->state_of(parser_->app.add_option(name, values, help)));
}

base::Result<OptionSet::Outcome> OptionSet::parse(const std::vector<std::string>& words) {
  group(OptionGroup::kOther);
  parser_->state_of(parser_->app.set_help_flag("-h,--help", "Print this help"));
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 takes them from the back
    parser_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return Outcome::kHelpAsked;
  } catch (const CLI::ParseError& error) {
    return std::unexpected(base::Error{cause_of(error, parser_->app)});
  }
  return Outcome::kParsed;
}

std::string OptionSet::help(size_t width) const {
  return help_text({.summary = parser_->summary,
                    .usage = parser_->usage,
                    .options = known_options(),
                    .most_used = parser_->most_used,
                    .footer = parser_->footer},
                   width);
}

std::vector<KnownOption> OptionSet::known_options() const {
  std::vector<KnownOption> known;
  for (CLI::Option* const option : parser_->app.get_options({}))
    known.push_back(known_option(*parser_->state_of(option)));
  return known;
}

std::string OptionSet::command() const { return parser_->app.get_name(); }

std::string OptionSet::summary() const { return parser_->summary; }

std::string OptionSet::usage() const { return parser_->usage; }

std::optional<Option> OptionSet::find(const std::string& name) const {
  CLI::Option* const option = parser_->app.get_option_no_throw(name);
  if (option == nullptr) return std::nullopt;
  return Option(parser_->state_of(option));
}

bool OptionSet::is_given(const std::string& name) const {
  const auto option = find(name);
  return option && option->is_given();
}

}  // namespace heaptap::app
