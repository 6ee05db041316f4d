#include "views/push/labels.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::push {
namespace {

model::Capture capture() {
  model::Capture capture;
  capture.host_name = "board";
  capture.pid = 42;
  return capture;
}

TEST(Labels, AreTheProgramItsHostAndPid) {
  EXPECT_EQ(labels_of(capture(), "/opt/bin/server", {}),
            (Labels{{"service_name", "server"}, {"hostname", "board"}, {"pid", "42"}}));
}

TEST(Labels, AreReplacedAndFollowedByThoseGiven) {
  EXPECT_EQ(labels_of(capture(), "server", {{"env", "a"}, {"service_name", "shop"}, {"env", "b"}}),
            (Labels{{"service_name", "shop"}, {"hostname", "board"}, {"pid", "42"}, {"env", "b"}}));
}

TEST(Labels, AreTextThatServersTake) {
  model::Capture odd = capture();
  odd.host_name = "";
  EXPECT_EQ(labels_of(odd, "a\xff\n", {}), (Labels{{"service_name", "a\\xff\\x0a"}, {"pid", "42"}}));
  EXPECT_EQ(labels_of(odd, "", {}).front().second, "unknown");
}

TEST(ALabel, IsAKeyAndAValue) {
  EXPECT_EQ(parse_label("env=a=b"), Label("env", "a=b"));
  EXPECT_EQ(parse_label("_x1= "), Label("_x1", " "));
  for (const char* const text : {"", "env", "env=", "=a", "1a=b", "a-b=c", "a.b=c", "__name__=cpu"}) {
    const auto label = parse_label(text);
    ASSERT_FALSE(label) << text;
    EXPECT_EQ(label.error().kind, base::ErrorKind::kUsage) << text;
  }
}

}  // namespace
}  // namespace heaptap::push
