#include "views/exports/xml_text.h"

#include <algorithm>

#include "common/base/safe_text.h"

namespace heaptap::exports {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t place = text.find(from); place != std::string::npos; place = text.find(from, place + to.size()))
    text.replace(place, from.size(), to);
}

}  // namespace

std::string xml_characters(std::string_view text) {
  std::string safe = base::safe_text(text);
  // U+FFFE and U+FFFF are valid UTF-8, but not XML characters.
  replace_all(safe, "\xef\xbf\xbe", "\\xef\\xbf\\xbe");
  replace_all(safe, "\xef\xbf\xbf", "\\xef\\xbf\\xbf");
  return safe;
}

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char character : xml_characters(text)) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

std::string xml_lines(std::string_view text) {
  std::string lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines += xml_text(text.substr(begin, end - begin));
    if (end < text.size()) lines += '\n';
    begin = end + 1;
  }
  return lines;
}

}  // namespace heaptap::exports
