// Names of functions as people write them: shorter than a demangler does, and still the same function.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::report {

// Without the default arguments of the standard library's templates, and its inline namespaces: "std::map<std::string, int>".
std::string without_defaults(std::string_view name);

// "shop::add<int>" of "void shop::add<int>(shop::Cart&) const": without what it returns and what it takes.
std::string_view qualified_name(std::string_view function);

// A function without its return type, of a lambda without the operator that calls it: "main::{lambda()#1}".
std::string plain_function(std::string_view function);

// At most about `most` characters: parameters go first, then template arguments, then the middle.
std::string short_name(std::string_view name, size_t most);

// At most `most` columns of a terminal, the middle left out.
std::string cut_middle(std::string_view text, size_t most);

// How many columns it takes on a terminal, where colours take none.
size_t shown_width(std::string_view text);

// Replaces what is between the outermost `open` and `close`; nothing between them stays nothing.
std::string collapse(std::string_view name, char open, char close, std::string_view replacement);

}  // namespace heaptap::report
