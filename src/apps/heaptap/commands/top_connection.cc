#include "apps/heaptap/commands/top_connection.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <vector>

#include "apps/heaptap/commands/offers.h"

namespace heaptap::app {

bool is_socket(const std::string& word) {
  struct stat facts{};
  return stat(word.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

base::Result<std::unique_ptr<client::Recording>> connect_to_running(const std::string& host) {
  const std::vector<client::Offer> offers = offers_of(host);
  if (offers.size() == 1) return connect_to(offers.front());
  if (offers.empty()) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "top: none of your processes is being recorded; give a PID, a program to start, or a trace");
  }
  std::string list;
  for (const client::Offer& offer : offers)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", words_of(offer), program_text(offer));
  return base::fail_as(base::ErrorKind::kUsage, "top: several processes are being recorded; name one: {}", list);
}

}  // namespace heaptap::app
