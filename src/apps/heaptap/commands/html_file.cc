#include "apps/heaptap/commands/html_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "apps/heaptap/commands/new_file.h"
#include "apps/heaptap/commands/other_program.h"
#include "apps/heaptap/commands/terminal.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::app {
namespace {

// The program that opens files for the user's desktop. It isn't waited for.
base::Result<> open_in_browser(const std::string& path) {
  const std::string name = path.starts_with("-") ? "./" + path : path;
  const auto process = start_program({"xdg-open", name}, /*has_terminal=*/false);
  if (process) return {};
  return base::fail("--open: can't start xdg-open: {}. Open {} in a browser", base::reason_of(process.error()),
                    base::safe_text(path));
}

}  // namespace

std::string html_name_of(const std::string& trace) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(trace, error);
  std::string name = error ? trace.substr(trace.rfind('/') + 1) : real.filename().string();
  if (name.ends_with(".htap")) name.resize(name.size() - 5);
  return name + ".html";
}

base::Result<> write_html_file(const HtmlFileOptions& options, const std::string& path,
                               const std::function<base::Result<std::string>()>& make) {
  auto file = NewFile::create(path, options.force);
  if (!file) return std::unexpected(std::move(file).error());
  const auto html = make();
  if (!html) return std::unexpected(html.error());
  file->write(*html);
  HEAPTAP_TRY(file->finish());
  if (!options.quiet && path != "-") {
    print_error(fmt::format("heaptap: {} ({}): open it in a browser\n", base::safe_text(path),
                            base::format_bytes(html->size())));
  }
  return options.open ? open_in_browser(path) : base::Result<>();
}

}  // namespace heaptap::app
