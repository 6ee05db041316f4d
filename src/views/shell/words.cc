#include "views/shell/words.h"

namespace heaptap::shell {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Scanner of words and redirections.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_blanks() { place_ = std::min(text_.find_first_not_of(kBlanks, place_), text_.size()); }
  [[nodiscard]] size_t place() const { return place_; }
  [[nodiscard]] bool is_end() const { return place_ == text_.size(); }
  [[nodiscard]] std::string_view rest() const { return text_.substr(place_); }

  [[nodiscard]] bool is_comment() const {
    if (rest().front() != '#') return false;
    const bool is_first = text_.find_first_not_of(kBlanks) == place_;
    return is_first || rest().size() == 1 || kBlanks.find(rest()[1]) != kBlanks.npos;
  }

  // The operator at this place; else kNone.
  Redirection take_redirection() {
    constexpr std::pair<std::string_view, Redirection> kSigns[] = {{">>", Redirection::kAppend},
                                                                   {">|", Redirection::kReplace},
                                                                   {">", Redirection::kNewFile},
                                                                   {"|", Redirection::kCommand}};
    for (const auto& [sign, redirection] : kSigns) {
      if (!rest().starts_with(sign)) continue;
      place_ += sign.size();
      return redirection;
    }
    return Redirection::kNone;
  }

  std::string take_word() {
    std::string word;
    for (; !is_end(); ++place_) {
      const char letter = text_[place_];
      if (quote_ == 0 && (kBlanks.find(letter) != kBlanks.npos || letter == '>' || letter == '|')) break;
      if (letter == quote_) {
        quote_ = 0;
      } else if (quote_ == 0 && (letter == '\'' || letter == '"')) {
        quote_ = letter;
      } else if (letter == '\\' && takes_next()) {
        if (++place_ == text_.size()) {
          is_escape_open_ = true;
          break;
        }
        word += text_[place_];
      } else {
        word += letter;
      }
    }
    return word;
  }

  [[nodiscard]] char quote() const { return quote_; }
  [[nodiscard]] bool is_escape_open() const { return is_escape_open_; }

 private:
  // After a backslash.
  [[nodiscard]] bool takes_next() const {
    if (quote_ == '\'') return false;
    const char next = place_ + 1 < text_.size() ? text_[place_ + 1] : '\\';
    return quote_ == 0 || next == '"' || next == '\\';
  }

  std::string_view text_;
  size_t place_ = 0;
  char quote_ = 0;
  bool is_escape_open_ = false;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

base::Result<> take_target(Scanner& scanner, Line& line) {
  if (line.redirection == Redirection::kCommand) {
    line.target = trimmed(scanner.rest());
    if (line.target.empty()) return base::fail_as(base::ErrorKind::kUsage, "no command after |");
    return {};
  }
  scanner.skip_blanks();
  line.target = scanner.take_word();
  if (line.target.empty()) return base::fail_as(base::ErrorKind::kUsage, "no file after >");
  scanner.skip_blanks();
  if (!scanner.is_end() && !scanner.is_comment()) {
    return base::fail_as(base::ErrorKind::kUsage, "'{}' after the file: a redirection has to come last",
                         scanner.rest());
  }
  return {};
}

}  // namespace

base::Result<Line> parse_line(std::string_view text) {
  Line line;
  Scanner scanner(text);
  for (scanner.skip_blanks(); !scanner.is_end() && !scanner.is_comment(); scanner.skip_blanks()) {
    line.redirection = scanner.take_redirection();
    if (line.redirection != Redirection::kNone) {
      if (line.words.empty()) return base::fail_as(base::ErrorKind::kUsage, "no command before the redirection");
      HEAPTAP_TRY(take_target(scanner, line));
      break;
    }
    line.words.push_back(scanner.take_word());
    if (scanner.quote() != 0) break;
  }
  if (scanner.quote() != 0) {
    return base::fail_as(base::ErrorKind::kUsage, "unterminated quote ({}); a backslash makes it literal",
                         scanner.quote());
  }
  if (scanner.is_escape_open()) return base::fail_as(base::ErrorKind::kUsage, "nothing after the last backslash");
  return line;
}

PartialLine partial_line(std::string_view text) {
  PartialLine line;
  Scanner scanner(text);
  while (true) {
    scanner.skip_blanks();
    if (scanner.is_end() || scanner.is_comment()) break;
    if (const Redirection sign = scanner.take_redirection(); sign != Redirection::kNone) {
      line.redirection = sign;
      if (sign == Redirection::kCommand) break;
      continue;
    }
    line.begin = scanner.place();
    line.word = scanner.take_word();
    line.quote = scanner.quote();
    if (scanner.is_end()) return line;
    line.words.push_back(std::move(line.word));
  }
  line.begin = text.size();
  line.word.clear();
  return line;
}

std::string typed_word(std::string_view word, char quote) {
  constexpr std::string_view kSpecial = " \t'\"\\>|";
  std::string typed;
  if (quote != 0) typed += quote;
  for (const char letter : word) {
    const bool is_special = quote == 0     ? kSpecial.find(letter) != kSpecial.npos
                            : quote == '"' ? letter == '"' || letter == '\\'
                                           : false;
    if (is_special) typed += '\\';
    typed += letter;
  }
  return typed;
}

}  // namespace heaptap::shell
