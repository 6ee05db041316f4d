// HTML page of the report file, with placeholders for the data (docs/report-data.md). Built from web/, committed as
// src/views/html/shell.html, and embedded in this program.
#pragma once
#include <string_view>

namespace heaptap::html {

std::string_view shell();

}  // namespace heaptap::html
