// Console commands by name; names may be abbreviated.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "views/shell/words.h"

namespace heaptap::shell {

struct Command {
  std::string name;
  std::string usage;    // "scan [all|new|lost] [PID]"
  std::string summary;  // half a line
  std::string help;     // further lines
  std::function<base::Result<>(const Words& arguments)> run;
  // Completions for `word` after the arguments so far. May include non-matching ones; null: none.
  std::function<Words(const Words& arguments, const std::string& word)> complete = {};
  Words aliases = {};
};

// Expands an unambiguous prefix to one of `names`; `what` is the kind of name ("command") for the error message.
base::Result<std::string> whole_name(std::string_view word, const Words& names, std::string_view what);

class CommandTable {
 public:
  void add(Command command);
  void add(std::vector<Command> commands);

  // By its name, an alias, or a unique prefix.
  [[nodiscard]] base::Result<const Command*> find(const std::string& word) const;
  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }
  [[nodiscard]] Words names() const;  // without aliases

 private:
  std::vector<Command> commands_;
};

}  // namespace heaptap::shell
