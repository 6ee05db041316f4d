#include "apps/heaptap/options/push_options.h"

#include <algorithm>
#include <utility>

namespace heaptap::app {
namespace {

constexpr uint64_t kLeastPushNs = 100'000'000;
constexpr size_t kMaxLabels = 32;

base::Result<> add_label(push::Labels& labels, const std::string& text) {
  auto label = push::parse_label(text);
  if (!label) return std::unexpected(std::move(label).error());
  if (labels.size() >= kMaxLabels) return base::fail("more than {} labels", kMaxLabels);
  labels.push_back(*std::move(label));
  return {};
}

}  // namespace

void add_push(OptionSet& set, PushOptions& options) {
  set.group(OptionGroup::kPush);
  set.parsed(
         "--push",
         [&options](const std::string& text) -> base::Result<> {
           auto to = push::parse_destination(text);
           if (!to) return std::unexpected(std::move(to).error());
           options.to = *std::move(to);
           return {};
         },
         "Send profiles of the heap to this server while recording: http://HOST:PORT or https://HOST (Pyroscope, "
         "Alloy), "
         "parca+http://HOST:PORT (Parca), otlp+http://HOST:PORT (OpenTelemetry)")
      .value_name("URL");
  set.duration("--push-every", options.every_ns, "Interval of these profiles (default: 15s)");
  set.parsed_list(
         "--push-label", [&options](const std::string& text) { return add_label(options.labels, text); },
         "Add a label to them; service_name, hostname and pid are there, and may be replaced")
      .value_name("KEY=VALUE");
  set.text("--push-token-file", options.token_file, "Token that is sent to the server (default: $HEAPTAP_PUSH_TOKEN)")
      .value_name("FILE");
  set.flag("--push-token-in-clear", options.token_in_clear,
           "Send the token without encryption to another machine, too");
  set.text("--push-ca", options.ca_file,
           "Trust the issuers of certificates in FILE (default: $SSL_CERT_FILE, else the system's)")
      .value_name("FILE");
}

base::Result<> check_push(const PushOptions& options) {
  if (options.every_ns < kLeastPushNs) return base::fail_as(base::ErrorKind::kUsage, "--push-every: at least 100ms");
  return {};
}

}  // namespace heaptap::app
