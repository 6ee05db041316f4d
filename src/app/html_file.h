// Commands that write an HTML file for a browser.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"

namespace heaptap::app {

struct HtmlFileOptions {
  std::string output;  // a file; empty: in the working directory, under a name that the command makes
  bool force = false;  // the file may be there already
  bool open = false;   // in a browser
  bool full = false;   // however large it becomes
  bool quiet = false;
};

// "heaptap.app.12.htap" becomes "heaptap.app.12.html", in the working directory; of a link the trace that it leads to.
std::string html_name_of(const std::string& trace);

// The file whose text `make` returns. Where it can't be written that is said before anything is made.
base::Result<> write_html_file(const HtmlFileOptions& options, const std::string& path,
                               const std::function<base::Result<std::string>()>& make);

}  // namespace heaptap::app
