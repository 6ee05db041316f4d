#include "views/mcp/page.h"

#include <fmt/format.h>

namespace heaptap::mcp {
namespace {

constexpr size_t kNextBytes = 128;  // room for the line about the next page

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Where a page that may go up to `end` ends.
size_t end_of_page(std::string_view text, size_t begin, size_t end) {
  const size_t line = text.rfind('\n', end - 1);
  if (line != std::string_view::npos && line >= begin) return line + 1;
  size_t whole = end;
  while (whole > begin + 1 && continues_character(text[whole])) --whole;
  return whole;
}

}  // namespace

base::Result<std::string> page_of(std::string_view text, uint64_t cursor) {
  if (cursor != 0 && cursor >= text.size())
    return base::fail("cursor {}: the answer has {} bytes, counted from 0", cursor, text.size());
  auto begin = static_cast<size_t>(cursor);
  while (begin < text.size() && begin != 0 && continues_character(text[begin])) ++begin;
  if (text.size() - begin <= kMaxPageBytes) return std::string(text.substr(begin));
  const size_t end = end_of_page(text, begin, begin + kMaxPageBytes - kNextBytes);
  std::string page(text.substr(begin, end - begin));
  page += fmt::format("{}[bytes {} to {} of {}; more: cursor={}]\n", page.ends_with('\n') ? "" : "\n", begin, end,
                      text.size(), end);
  return page;
}

}  // namespace heaptap::mcp
