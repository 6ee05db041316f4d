#include "analysis/findings/function_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analysis/findings/display_width.h"

namespace heaptap::findings {
namespace {

using std::string_view;

constexpr size_t kLongestName = 1 << 16;
constexpr int kMaxNesting = 64;

bool is_word(char character) {
  return character == '_' || character == '$' || (character >= '0' && character <= '9') ||
         (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

// Length of an operator's name at this position ("operator<<", "operator()", "operator new[]"), 0: none.
size_t operator_length(string_view text, size_t place) {
  constexpr string_view kOperator = "operator";
  const string_view rest = text.substr(place);
  if (!rest.starts_with(kOperator) || (place != 0 && is_word(text[place - 1]))) return 0;
  size_t length = kOperator.size();
  if (length < rest.size() && is_word(rest[length])) return 0;
  for (const string_view word : {"()", "[]", " new[]", " new", " delete[]", " delete"}) {
    if (rest.substr(length).starts_with(word)) return length + word.size();
  }
  while (length < rest.size() && string_view("<>=-!").find(rest[length]) != string_view::npos) ++length;
  return length;
}

bool opens(char character) { return string_view("<([{").find(character) != string_view::npos; }
bool closes(char character) { return string_view(">)]}").find(character) != string_view::npos; }

// The position after the bracket that closes the one at `begin`; npos: not closed.
size_t behind_bracket(string_view text, size_t begin) {
  size_t depth = 0;
  for (size_t at = begin; at < text.size();) {
    if (const size_t length = operator_length(text, at); length != 0) {
      at += length;
      continue;
    }
    const char character = text[at++];
    const bool is_arrow = character == '>' && at >= 2 && text[at - 2] == '-';
    if (opens(character)) ++depth;
    if (!closes(character) || is_arrow || depth == 0) continue;
    if (--depth == 0) return at;
  }
  return string_view::npos;
}

string_view trimmed(string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<string_view> arguments_of(string_view list) {
  std::vector<string_view> arguments;
  size_t begin = 0;
  for (size_t at = 0; at < list.size();) {
    if (opens(list[at])) {
      const size_t end = behind_bracket(list, at);
      at = end == string_view::npos ? list.size() : end;
    } else if (list[at++] == ',') {
      arguments.push_back(trimmed(list.substr(begin, at - 1 - begin)));
      begin = at;
    }
  }
  arguments.push_back(trimmed(list.substr(begin)));
  return arguments;
}

bool is_default(string_view argument) {
  constexpr std::array<string_view, 6> kDefaults = {"std::allocator<", "std::less<",        "std::hash<",
                                                    "std::equal_to<",  "std::char_traits<", "std::default_delete<"};
  std::string plain(argument.substr(0, 40));
  if (const size_t inner = plain.find("__1::"); inner != plain.npos) plain.erase(inner, 5);
  return std::ranges::any_of(kDefaults, [&](string_view each) { return plain.starts_with(each); });
}

// Inline namespaces of libraries, which users don't write.
void remove_inline_namespaces(std::string& text) {
  for (const string_view inner : {"::__cxx11::", "::__1::", "::__ndk1::"}) {
    if (!text.ends_with(inner)) continue;
    const size_t begin = text.size() - inner.size();
    const size_t word = text.find_last_of(" ,<(&*", begin) + 1;  // 0: none
    if (text.compare(word, 5, "std::") == 0) text.erase(begin, inner.size() - 2);
  }
}

// The library's typedef for a template with this one argument: "std::string" of std::basic_string<char>.
std::string alias_of(string_view name, const std::vector<std::string>& arguments) {
  constexpr string_view kPrefix = "std::basic_";
  const size_t begin = name.rfind(kPrefix);
  if (begin == name.npos || arguments.size() != 1 || (arguments[0] != "char" && arguments[0] != "wchar_t")) return {};
  const char* const wide = arguments[0] == "char" ? "" : "w";
  return std::string(name.substr(0, begin)) + "std::" + wide + std::string(name.substr(begin + kPrefix.size()));
}

void append_shortened(string_view text, std::string& result, int depth);

// The template arguments that begin at `open`; returns the position after them.
size_t append_arguments(string_view text, size_t open, std::string& result, int depth) {
  const size_t end = behind_bracket(text, open);
  if (end == text.npos) {
    result += text.substr(open);
    return text.size();
  }
  std::vector<string_view> found = arguments_of(text.substr(open + 1, end - open - 2));
  while (found.size() > 1 && is_default(found.back())) found.pop_back();
  std::vector<std::string> arguments;
  for (const string_view each : found) append_shortened(each, arguments.emplace_back(), depth + 1);
  if (std::string alias = alias_of(result, arguments); !alias.empty()) {
    result = std::move(alias);
    return end;
  }
  result += '<';
  for (size_t i = 0; i < arguments.size(); ++i) result += (i == 0 ? "" : ", ") + arguments[i];
  result += '>';
  return end;
}

void append_shortened(string_view text, std::string& result, int depth) {
  if (depth > kMaxNesting) {
    result += text;
    return;
  }
  for (size_t at = 0; at < text.size();) {
    if (const size_t length = operator_length(text, at); length != 0) {
      result += text.substr(at, length);
      at += length;
    } else if (text[at] == '<' && at != 0 && is_word(text[at - 1])) {
      at = append_arguments(text, at, result, depth);
    } else {
      result += text[at++];
      if (result.ends_with("::")) remove_inline_namespaces(result);
    }
  }
}

// Start of the name after the return type, and start of the parameters.
struct NameParts {
  size_t begin = 0;
  size_t end = 0;
};

// After a bracket: the qualifiers of a function that contains a local entity.
size_t behind_qualifiers(string_view text, size_t at) {
  for (bool found = true; found;) {
    found = false;
    for (const string_view word : {" const", " volatile", " &&", " &", "[abi:cxx11]"}) {
      if (!text.substr(at).starts_with(word)) continue;
      at += word.size();
      found = true;
    }
  }
  return at;
}

NameParts parts_of(string_view text) {
  NameParts parts{0, text.size()};
  bool is_operator = false;
  for (size_t at = 0; at < text.size();) {
    if (const size_t length = operator_length(text, at); length != 0) {
      is_operator = true;
      at += length;
      if (at < text.size() && text[at] == ' ' && at + 1 < text.size() && text[at + 1] != '[') ++at;  // "operator int"
    } else if (text[at] == '(' && !text.substr(at).starts_with("(anonymous namespace)") &&
               !text.substr(0, at).ends_with("decltype") && !text.substr(0, at).ends_with("decltype ")) {
      const size_t end = behind_bracket(text, at);
      const size_t next = end == text.npos ? end : behind_qualifiers(text, end);
      if (next == text.npos || !text.substr(next).starts_with("::")) {
        parts.end = at;
        break;
      }
      at = next;
    } else if (opens(text[at])) {
      const size_t end = behind_bracket(text, at);
      if (end == text.npos) break;
      at = end;
    } else if (text[at] == ' ') {
      if (text.substr(at).starts_with(" [clone")) {
        parts.end = at;
        break;
      }
      ++at;
      if (!is_operator) parts.begin = at;
    } else {
      ++at;
    }
  }
  if (parts.begin >= parts.end) return {0, text.size()};
  return parts;
}

}  // namespace

std::string without_defaults(string_view name) {
  std::string result;
  append_shortened(name.substr(0, kLongestName), result, 0);
  return result;
}

string_view qualified_name(string_view function) {
  if (function.size() > kLongestName) return function;
  const NameParts parts = parts_of(function);
  return function.substr(parts.begin, parts.end - parts.begin);
}

std::string plain_function(string_view function) {
  if (function.size() > kLongestName) return std::string(function.substr(0, kLongestName));
  const std::string name = without_defaults(function);
  const NameParts parts = parts_of(name);
  const string_view qualified = string_view(name).substr(parts.begin, parts.end - parts.begin);
  const size_t lambda = qualified.rfind("}::");
  if (lambda != qualified.npos && qualified.find("{lambda(") < lambda) {
    const string_view member = qualified.substr(lambda + 3);
    if (member.starts_with("operator()") || member.starts_with("_FUN")) {
      return std::string(qualified.substr(0, lambda + 1));
    }
  }
  return name.substr(parts.begin);
}

std::string collapse(string_view name, char open, char close, string_view replacement) {
  std::string result;
  size_t depth = 0;
  for (size_t place = 0; place < name.size();) {
    if (const size_t length = operator_length(name, place); length != 0) {
      if (depth == 0) result += name.substr(place, length);
      place += length;
      continue;
    }
    const char character = name[place++];
    if (character == close && depth > 0) --depth;
    if (depth == 0) result += character;
    const bool is_part_of_name = name.substr(0, place).ends_with(".<");  // "outer.<locals>.inner" of Python
    if (depth == 0 && is_part_of_name) continue;
    if (character == open && depth++ == 0 && place < name.size() && name[place] != close) result += replacement;
  }
  return result;
}

namespace {

// A template's arguments, without the brackets.
struct Arguments {
  size_t begin = 0;
  size_t end = 0;
  size_t depth = 0;
};

// Of lists that aren't left out already, in the order of their ends.
std::vector<Arguments> argument_lists(string_view name) {
  std::vector<Arguments> lists;
  std::vector<size_t> open;
  for (size_t at = 0; at < name.size();) {
    if (const size_t length = operator_length(name, at); length != 0) {
      at += length;
      if (name.substr(at).starts_with(" <")) open.push_back(at += 2);
      continue;
    }
    const bool is_list = name[at] == '<' && at != 0 && is_word(name[at - 1]);
    if (is_list) open.push_back(at + 1);
    if (name[at] == '>' && !open.empty() && name[at - 1] != '-') {
      if (name.substr(open.back(), at - open.back()) != "...") lists.push_back({open.back(), at, open.size()});
      open.pop_back();
    }
    ++at;
  }
  return lists;
}

// "std::map<int, shared_ptr<User>>": arguments without the namespaces that they are in.
std::string without_inner_namespaces(string_view name) {
  std::string result;
  size_t depth = 0;
  size_t word = 0;  // start of the qualified name, in the result
  for (size_t at = 0; at < name.size();) {
    if (const size_t length = operator_length(name, at); length != 0) {
      result += name.substr(at, length);
      at += length;
      continue;
    }
    const char character = name[at++];
    result += character;
    if (opens(character)) ++depth;
    if (closes(character) && depth != 0) --depth;
    if (depth != 0 && result.ends_with("::"))
      result.erase(word);
    else if (!is_word(character) && character != ':')
      word = result.size();
  }
  return result;
}

constexpr string_view kOuterScopes = "...::";

// "...::connect": without the outer scopes, as few of them as it takes; `are_plain`: those without arguments alone.
std::string without_scopes(const std::string& name, size_t most, bool are_plain) {
  size_t begin = 0;  // of the name that is left
  for (size_t at = 0; at < name.size();) {
    if (begin != 0 && kOuterScopes.size() + shown_width(string_view(name).substr(begin)) <= most) break;
    if (opens(name[at])) {
      const size_t end = behind_bracket(name, at);
      if (end == string_view::npos || (are_plain && name[at] == '<')) break;
      at = end;
    } else if (name.compare(at, 2, "::") == 0) {
      begin = at += 2;
    } else {
      ++at;
    }
  }
  return begin == 0 ? name : std::string(kOuterScopes) + name.substr(begin);
}

}  // namespace

std::string short_name(string_view name, size_t most) {
  constexpr size_t kLongestTried = 4096;
  std::string result(name);
  const auto is_too_wide = [&] { return shown_width(result) > most; };
  if (is_too_wide()) result = collapse(result, '(', ')', "...");
  if (is_too_wide() && result.size() > kLongestTried) result = collapse(result, '<', '>', "...");
  if (is_too_wide()) result = without_inner_namespaces(result);
  while (is_too_wide()) {
    const std::string inner = without_scopes(result, most, true);
    if (shown_width(inner) <= most) return inner;
    const std::vector<Arguments> lists = argument_lists(result);
    const auto deepest = std::ranges::max_element(lists, {}, &Arguments::depth);
    if (deepest == lists.end()) break;
    result.replace(deepest->begin, deepest->end - deepest->begin, "...");
  }
  if (is_too_wide()) result = without_scopes(result, most, false);
  if (is_too_wide() && result.starts_with(kOuterScopes)) result.erase(0, kOuterScopes.size());
  return most > 8 ? cut_middle(result, most) : result;
}

size_t shown_width(string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const DisplayedCharacter character = first_character(text);
    width += character.columns;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string cut_middle(string_view text, size_t most) {
  constexpr size_t kDots = 3;
  const size_t whole = shown_width(text);
  if (most <= kDots || whole <= most) return std::string(text);
  const size_t head = (most - kDots) / 2;
  const size_t tail = most - kDots - head;
  std::string result;
  std::string end;
  size_t column = 0;  // of the character in the whole text
  for (bool has_head = true; !text.empty();) {
    const DisplayedCharacter character = first_character(text);
    has_head = has_head && column + character.columns <= head;
    if (has_head) result += text.substr(0, character.bytes);
    if (column >= whole - tail) end += text.substr(0, character.bytes);
    column += character.columns;
    text.remove_prefix(character.bytes);
  }
  return result + "..." + end;
}

std::string function_text(const std::string& function, const std::string& variant) {
  return variant.empty() ? function : fmt::format("{} ({})", function, variant);
}

}  // namespace heaptap::findings
