#include "views/push/envelope.h"

#include <cstdint>

#include "common/base/base64.h"
#include "common/base/byte_span.h"
#include "views/exports/protobuf.h"
#include "views/json/json_writer.h"

namespace heaptap::push {
namespace {

using exports::ProtobufMessage;

// The kind of profile, by which both servers name its types: memory:inuse_space:bytes:space:bytes.
constexpr std::string_view kName = "memory";

// https://github.com/grafana/pyroscope/blob/main/api/push/v1/push.proto
std::string for_pyroscope(const Labels& labels, std::span<const std::string> profiles) {
  ProtobufMessage series;
  const auto add_label = [&series](std::string_view name, std::string_view value) {
    ProtobufMessage pair;
    pair.add(1, name);
    pair.add(2, value);
    series.add(1, pair);
  };
  add_label("__name__", kName);
  add_label("__delta__", "false");  // allocations are since the profile before: it has no difference to make
  for (const auto& [name, value] : labels) add_label(name, value);
  for (const std::string& profile : profiles) {
    ProtobufMessage sample;
    sample.add(1, std::string_view(profile));
    series.add(2, sample);
  }
  ProtobufMessage request;
  request.add(1, series);
  return request.bytes();
}

// https://github.com/parca-dev/parca/blob/main/proto/parca/profilestore/v1alpha1/profilestore.proto, in the JSON of protocol buffers
std::string for_parca(const Labels& labels, std::span<const std::string> profiles) {
  std::string text;
  json::JsonWriter json(text);
  json.begin_object();
  json.key("series").begin_array();
  json.begin_object();
  json.key("labels").begin_object();
  json.key("labels").begin_array();
  const auto add_label = [&json](std::string_view name, std::string_view value) {
    const json::JsonObject pair(json);
    json.member("name", name);
    json.member("value", value);
  };
  add_label("__name__", kName);
  for (const auto& [name, value] : labels) add_label(name, value);
  json.end_array();
  json.end_object();
  json.key("samples").begin_array();
  for (const std::string& profile : profiles) {
    const json::JsonObject sample(json);
    json.member("raw_profile", base::base64_padded(base::bytes_of(profile)));
  }
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  return text;
}

}  // namespace

std::string_view content_type(Protocol protocol) {
  switch (protocol) {
    case Protocol::kPyroscope:
      return "application/proto";
    case Protocol::kParca:
      return "application/json";
    case Protocol::kOtlp:
      break;
  }
  return "application/x-protobuf";
}

std::string_view content_encoding(Protocol protocol) { return protocol == Protocol::kOtlp ? "gzip" : ""; }

std::string make_envelope(Protocol protocol, const Labels& labels, std::span<const std::string> profiles) {
  return protocol == Protocol::kParca ? for_parca(labels, profiles) : for_pyroscope(labels, profiles);
}

}  // namespace heaptap::push
