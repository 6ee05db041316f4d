#include "views/push/envelope.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace heaptap::push {
namespace {

const Labels kLabels{{"service_name", "shop"}};

TEST(AnEnvelope, OfPyroscopeIsItsMessage) {
  const std::array<std::string, 1> profiles{std::string("\x1f\x8b", 2)};
  // series: labels of name and value, sample
  const std::string expected = std::string("\x0a\x44") + "\x0a\x12\x0a\x08__name__\x12\x06memory" +
                               "\x0a\x12\x0a\x09__delta__\x12\x05" + "false" +
                               "\x0a\x14\x0a\x0cservice_name\x12\x04shop" + "\x12\x04\x0a\x02\x1f\x8b";
  EXPECT_EQ(make_envelope(Protocol::kPyroscope, kLabels, profiles), expected);
  EXPECT_EQ(content_type(Protocol::kPyroscope), "application/proto");
}

TEST(AnEnvelope, OfParcaIsJson) {
  const std::array<std::string, 2> profiles{std::string("\x1f\x8b\x00\xff", 4), "b"};
  const auto json = nlohmann::json::parse(make_envelope(Protocol::kParca, kLabels, profiles));
  const auto& series = json["series"][0];
  EXPECT_EQ(series["labels"]["labels"],
            nlohmann::json::parse(R"([{"name":"__name__","value":"memory"},{"name":"service_name","value":"shop"}])"));
  EXPECT_EQ(series["samples"], nlohmann::json::parse(R"([{"raw_profile":"H4sA/w=="},{"raw_profile":"Yg=="}])"));
  EXPECT_EQ(content_type(Protocol::kParca), "application/json");
}

}  // namespace
}  // namespace heaptap::push
