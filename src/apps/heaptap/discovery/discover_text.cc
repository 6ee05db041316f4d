#include "apps/heaptap/discovery/discover_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/base/safe_text.h"
#include "common/base/shell_word.h"
#include "common/discovery/found_place.h"
#include "common/discovery/service.h"
#include "views/json/json_writer.h"
#include "views/text/text_table.h"

namespace heaptap::app {
namespace {

using discovery::FoundAddress;
using discovery::FoundService;
using json::JsonObject;
using json::JsonWriter;

std::string endpoint_text(const FoundService& service) {
  if (service.addresses.empty()) return fmt::format("?:{}", service.port);
  return discovery::endpoint_text(service.addresses.front(), service.port);
}

std::string value_or_dash(const FoundService& service, std::string_view name) {
  const std::string value = discovery::text_value(service.text, name).value_or("");
  return value.empty() ? "-" : base::safe_text(value);
}

// None: missing or another value.
std::optional<bool> flag_of(const FoundService& service, std::string_view name) {
  const auto value = discovery::text_value(service.text, name);
  if (value != "1" && value != "0") return std::nullopt;
  return *value == "1";
}

std::vector<std::string> cells_of(const FoundService& service) {
  const auto secure = flag_of(service, "secure");
  return {base::safe_text(service.name),         base::safe_text(service.host), endpoint_text(service),
          value_or_dash(service, "program"),     value_or_dash(service, "cpu"), value_or_dash(service, "version"),
          !secure ? "-" : *secure ? "yes" : "no"};
}

void write_service(JsonWriter& json, const FoundService& service) {
  const JsonObject object(json);
  json.member("name", service.name);
  json.member("host", service.host);
  json.member("port", service.port);
  json.key("addresses").begin_array();
  for (const FoundAddress& found : service.addresses) {
    const JsonObject address(json);
    json.member("address", discovery::address_text(found));
    json.member("interface", found.interface);
  }
  json.end_array();
  // Empty is a value: nothing is recorded.
  for (const char* name : {"program", "cpu", "version"}) json.member(name, discovery::text_value(service.text, name));
  for (const char* name : {"secure", "begun"}) json.member(name, flag_of(service, name));
}

void write_head(JsonWriter& json) {
  json.member("format", "heaptap-discover");
  json.member("version", 1);
}

}  // namespace

std::string services_as_table(const std::vector<FoundService>& services, size_t width) {
  using text::Align;
  text::TextTable table({{"name", Align::kLeft},
                         {"host", Align::kLeft},
                         {"address", Align::kLeft},
                         {"program", Align::kLeft},
                         {"CPU", Align::kLeft},
                         {"version", Align::kLeft},
                         {"secure", Align::kLeft}},
                        width);
  for (const FoundService& service : services) table.add(cells_of(service));
  return table.render(text::Ink(false));
}

std::string advice_on(const std::vector<FoundService>& services) {
  std::vector<const FoundService*> offered;
  std::string text;
  for (const FoundService& service : services) {
    if (!flag_of(service, "secure").value_or(false)) {
      text += fmt::format("heaptap: '{}' doesn't announce that it authenticates hosts: don't trust it\n",
                          base::safe_text(service.name));
    } else if (!service.addresses.empty()) {
      offered.push_back(&service);
    }
  }
  if (!offered.empty()) {
    const bool is_one = offered.size() == 1;
    const std::string place = is_one ? base::shell_word(endpoint_text(*offered.front())) : "ADDRESS";
    // A recording that the target started itself can be taken over; it doesn't record another program beside it.
    const auto has_begun = [](const FoundService* each) { return flag_of(*each, "begun").value_or(false); };
    const auto has_token = [](const FoundService* each) { return flag_of(*each, "token").value_or(false); };
    const char* const token = std::ranges::all_of(offered, has_token) ? " --token-file FILE" : "";
    const std::string command = std::ranges::all_of(offered, has_begun)
                                    ? fmt::format("heaptap connect {}{}", place, token)
                                    : fmt::format("heaptap run -H {}{} -- PROGRAM", place, token);
    text += fmt::format("heaptap: to record {}: {}\n", is_one ? "there" : "on one of them", command);
  }
  if (!services.empty()) {
    text +=
        "heaptap: announcements are not authenticated, anybody on this network can make one; a paired key (heaptap "
        "pair) or a token is proof\n";
  }
  return text;
}

std::string services_as_json(const std::vector<FoundService>& services) {
  std::string text;
  JsonWriter json(text, json::JsonLayout::kLinePerEntry);
  json.begin_object();
  write_head(json);
  json.key("services").begin_array();
  for (const FoundService& service : services) write_service(json, service);
  json.end_array();
  json.end_object();
  return text += '\n';
}

std::string service_as_line(std::string_view what, const FoundService& service) {
  return fmt::format("{:<7}  {}\n", what, fmt::join(cells_of(service), "  "));
}

std::string service_as_json_line(std::string_view what, const FoundService& service) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_head(json);
  json.member("event", what);
  write_service(json.key("service"), service);
  json.end_object();
  return text += '\n';
}

}  // namespace heaptap::app
