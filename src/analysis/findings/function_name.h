// Readable function names: shorter than a demangler's output, yet unambiguous.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace heaptap::findings {

// Without default arguments of the standard library's templates and its inline namespaces: "std::map<std::string, int>".
std::string without_defaults(std::string_view name);

// "shop::add<int>" of "void shop::add<int>(shop::Cart&) const": without return type and parameters.
std::string_view qualified_name(std::string_view function);

// A function without its return type; of a lambda without its call operator: "main::{lambda()#1}".
std::string plain_function(std::string_view function);

// About `most` characters at most. What is dropped, until it fits: parameters; namespaces of template arguments; outer namespaces; template
// arguments, the innermost first; outer classes; the middle.
std::string short_name(std::string_view name, size_t most);

// At most `most` terminal columns, the middle left out.
std::string cut_middle(std::string_view text, size_t most);

// Width in terminal columns; colour sequences count 0.
size_t shown_width(std::string_view text);

// Replaces the text between the outermost `open` and `close`; nothing between them stays nothing.
std::string collapse(std::string_view name, char open, char close, std::string_view replacement);

// Usual width of a name in a list.
inline constexpr size_t kNameWidth = 72;

// "malloc", "operator new (nothrow)".
std::string function_text(const std::string& function, const std::string& variant);

}  // namespace heaptap::findings
