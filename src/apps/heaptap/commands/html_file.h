// HTML output files of commands.
#pragma once
#include <functional>
#include <string>

#include "common/base/result.h"

namespace heaptap::app {

struct HtmlFileOptions {
  std::string output;  // a file; empty: a default name in the working directory
  bool force = false;  // replace an existing file
  bool open = false;   // in a browser
  bool full = false;   // whatever its size
  bool quiet = false;
};

// "heaptap.app.12.htap" becomes "heaptap.app.12.html", in the working directory; a symbolic link is resolved first.
std::string html_name_of(const std::string& trace);

// Writes the text returned by `make`. An unwritable file is reported before `make` is called.
base::Result<> write_html_file(const HtmlFileOptions& options, const std::string& path,
                               const std::function<base::Result<std::string>()>& make);

}  // namespace heaptap::app
