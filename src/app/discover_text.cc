#include "app/discover_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json_writer.h"
#include "base/safe_text.h"
#include "base/shell_word.h"
#include "discovery/service.h"
#include "report/text_table.h"

namespace heaptap::app {
namespace {

using base::JsonObject;
using base::JsonWriter;
using discovery::FoundAddress;
using discovery::FoundService;

// With the interface where the address means another machine behind each.
std::string address_text(const FoundAddress& found) {
  const bool needs_interface = found.address.family == discovery::Family::kIpv6 && found.address.is_link_local();
  return found.address.text() + (needs_interface ? "%" + found.interface : "");
}

std::string endpoint_text(const FoundService& service) {
  if (service.addresses.empty()) return fmt::format("?:{}", service.port);
  const FoundAddress& best = service.addresses.front();
  if (best.address.family == discovery::Family::kIpv4) return fmt::format("{}:{}", address_text(best), service.port);
  return fmt::format("[{}]:{}", address_text(best), service.port);
}

std::string value_or_dash(const FoundService& service, std::string_view name) {
  const std::string value = discovery::text_value(service.text, name).value_or("");
  return value.empty() ? "-" : base::safe_text(value);
}

// None: it says something else, or nothing.
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
    json.member("address", address_text(found));
    json.member("interface", found.interface);
  }
  json.end_array();
  // Empty is something that is said: nothing is recorded.
  for (const char* name : {"program", "cpu", "version"}) json.member(name, discovery::text_value(service.text, name));
  for (const char* name : {"secure", "begun"}) json.member(name, flag_of(service, name));
}

void write_head(JsonWriter& json) {
  json.member("format", "heaptap-discover");
  json.member("version", 1);
}

}  // namespace

std::string services_as_table(const std::vector<FoundService>& services, size_t width) {
  using report::Align;
  report::TextTable table({{"name", Align::kLeft},
                           {"host", Align::kLeft},
                           {"address", Align::kLeft},
                           {"program", Align::kLeft},
                           {"CPU", Align::kLeft},
                           {"version", Align::kLeft},
                           {"secure", Align::kLeft}},
                          width);
  for (const FoundService& service : services) table.add(cells_of(service));
  return table.render(report::Ink(false));
}

std::string command_for_first(const std::vector<FoundService>& services) {
  const auto first = std::ranges::find_if(services, [](const FoundService& each) { return !each.addresses.empty(); });
  if (first == services.end()) return {};
  const std::string place = base::shell_word(endpoint_text(*first));
  const char* const security = flag_of(*first, "secure").value_or(false) ? " --token-file FILE" : " --insecure";
  // What it records by itself is there to be taken over, and another program isn't recorded beside it.
  return flag_of(*first, "begun").value_or(false) ? fmt::format("heaptap connect {}{}", place, security)
                                                  : fmt::format("heaptap run -H {}{} -- PROGRAM", place, security);
}

std::string services_as_json(const std::vector<FoundService>& services) {
  std::string text;
  JsonWriter json(text, base::JsonLayout::kLinePerEntry);
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
