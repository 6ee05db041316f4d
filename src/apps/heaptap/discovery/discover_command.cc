#include "apps/heaptap/commands/discover_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/discovery/discover_text.h"
#include "common/base/clock.h"
#include "common/base/exit_status.h"
#include "common/base/units.h"
#include "common/discovery/browser.h"
#include "common/discovery/service.h"
#include "views/text/fold.h"

namespace heaptap::app {
namespace {

using discovery::Browser;
using discovery::FoundService;

constexpr int kExitNothingFound = 1;
constexpr uint64_t kDefaultWaitNs = 2 * discovery::kSecond;

// Reporter of services that appeared, changed or disappeared since the last report.
class News {
 public:
  explicit News(bool json) : line_of_(json ? service_as_json_line : service_as_line) {}

  base::Result<> tell(const std::vector<FoundService>& services) {
    std::map<Identity, FoundService> now;
    std::string lines;
    for (const FoundService& service : services) {
      const auto [entry, is_first] = now.emplace(identity_of(service), service);
      if (!is_first) continue;
      const auto known = told_.find(entry->first);
      if (known == told_.end()) {
        lines += line_of_("found", service);
      } else if (line_of_("", known->second) != line_of_("", service)) {
        lines += line_of_("changed", service);
      }
    }
    for (const auto& [identity, service] : told_) {
      if (!now.contains(identity)) lines += line_of_("gone", service);
    }
    told_ = std::move(now);
    has_found_ = has_found_ || !told_.empty();
    return lines.empty() ? base::Result<>() : print_output(lines);
  }
  [[nodiscard]] bool has_found() const { return has_found_; }

 private:
  using Identity = std::tuple<std::string, std::string, uint16_t, std::string>;
  static Identity identity_of(const FoundService& service) {
    return {service.name, service.host, service.port, discovery::text_value(service.text, "id").value_or("")};
  }

  std::string (*line_of_)(std::string_view what, const FoundService& service);
  std::map<Identity, FoundService> told_;
  bool has_found_ = false;
};

void say_that_nothing_was_found(uint64_t wait_ns) {
  const std::string text = fmt::format(
      "heaptap: nothing was found within {}. Check that `heaptap-target serve --announce` runs there, that both "
      "machines are on the "
      "same local network (multicast goes through no router, and not through every wireless network), and that no "
      "firewall "
      "drops UDP port 5353\n",
      base::format_duration(wait_ns));
  print_error(text::folded(text, fold_width(STDERR_FILENO), "heaptap: "));
}

// Whether a service was found.
base::Result<bool> discover(const DiscoverOptions& options) {
  auto browser = Browser::create();
  if (!browser) return std::unexpected(std::move(browser).error());
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  const uint64_t wait_ns = options.wait_ns.value_or(options.watch ? discovery::kNever : kDefaultWaitNs);
  const uint64_t end_ns = wait_ns > discovery::kNever - now_ns ? discovery::kNever : now_ns + wait_ns;
  News news(options.json);
  while (browser->serve_until(end_ns)) {
    if (options.watch) HEAPTAP_TRY(news.tell(browser->services()));
  }
  const std::vector<FoundService> services = browser->services();
  const bool has_found = options.watch ? news.has_found() : !services.empty();
  if (!options.watch && options.json) {
    HEAPTAP_TRY(print_output(services_as_json(services)));
  } else if (!options.watch && has_found) {
    HEAPTAP_TRY(print_output(services_as_table(services, fold_width(STDOUT_FILENO))));
    // On stderr, since the table on stdout may be read by programs.
    print_error(advice_on(services));
  }
  if (!has_found) say_that_nothing_was_found(wait_ns);
  if (browser->is_full()) {
    print_error(fmt::format("heaptap: not all announcements are shown: at most {} services per address, {} in total\n",
                            discovery::kMaxServicesOfSender, discovery::kMaxFoundServices));
  }
  return has_found;
}

}  // namespace

int perform(const DiscoverOptions& options) {
  const auto has_found = discover(options);
  if (has_found) return *has_found ? 0 : kExitNothingFound;
  print_error(fmt::format("heaptap: {}\n", has_found.error().message));
  return base::exit_status_of(has_found.error().kind);
}

}  // namespace heaptap::app
