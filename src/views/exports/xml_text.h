// XML text from strings of the target.
#pragma once
#include <string>
#include <string_view>

namespace heaptap::exports {

// Characters that XML 1.0 can't contain (control characters, invalid UTF-8) become \xNN; nothing is escaped.
std::string xml_characters(std::string_view text);

// Escaped, also for attributes in double quotes. Characters that XML 1.0 can't contain become \xNN, as above.
std::string xml_text(std::string_view text);

// Same for several lines: newlines are kept. Not for attributes.
std::string xml_lines(std::string_view text);

}  // namespace heaptap::exports
