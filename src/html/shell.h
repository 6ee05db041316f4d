// The shell of the report file: a page with places for what differs (docs/report-data.md). Built from web/, committed as
// src/html/shell.html, and a part of this program.
#pragma once
#include <string_view>

namespace heaptap::html {

std::string_view shell();

}  // namespace heaptap::html
