// Text of the target in an XML document.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::exports {

// What XML 1.0 can't hold (control characters, what isn't UTF-8) becomes \xNN; nothing is escaped.
std::string xml_characters(std::string_view text);

// Also for attributes in double quotes. What XML 1.0 can't hold (control characters, what isn't UTF-8) becomes \xNN.
std::string xml_text(std::string_view text);

// The same on several lines: newlines stay. Not for attributes.
std::string xml_lines(std::string_view text);

}  // namespace heaptap::exports
