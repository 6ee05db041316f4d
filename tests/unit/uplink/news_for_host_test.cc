#include "capture/uplink/news_for_host.h"

#include <gtest/gtest.h>

#include "common/line/line_messages.h"

namespace heaptap::uplink {
namespace {

using line::Kind;
using supervision::TracingNews;

std::string failure_in(const std::optional<message::Message>& message) {
  if (!message || message->kind != Kind::kNotRecorded) return "";
  return line::decode_not_recorded(message->fields).why;
}

TEST(NewsForHost, EverythingThatIsNotRecordedIsPassedOn) {
  EXPECT_EQ(failure_in(message_of(TracingNews{.kind = TracingNews::Kind::kNotRecorded, .process = 7, .why = "w"})),
            "w");
  EXPECT_EQ(failure_in(message_of(TracingNews{.kind = TracingNews::Kind::kEndedBefore, .process = 7})),
            "process 7 ended before it could be recorded");
  EXPECT_EQ(failure_in(message_of(TracingNews{.kind = TracingNews::Kind::kTracerEnded, .status = base::WaitStatus(9)})),
            "signal 9 ended the tracer: recording has stopped");
  EXPECT_EQ(
      failure_in(message_of(TracingNews{.kind = TracingNews::Kind::kTracerEnded, .status = base::WaitStatus(1 << 8)})),
      "the tracer exited with 1: recording has stopped");
  EXPECT_EQ(failure_in(message_of(supervision::FinishedTrace{.path = "", .pid = 7, .failure = "no memory"})),
            "process 7 isn't recorded: no memory");
}

TEST(NewsForHost, ATracerThatIsBlockedIsPassedOn) {
  for (const auto kind : {TracingNews::Kind::kTracerWaits, TracingNews::Kind::kTracerLooks}) {
    const auto message = message_of(TracingNews{.kind = kind, .process = 9, .why = "fuse_wait"});
    ASSERT_TRUE(message.has_value());
    ASSERT_EQ(message->kind, Kind::kTracerWaits);
    const line::TracerWaits waits = line::decode_tracer_waits(message->fields);
    EXPECT_EQ(waits.pid, 9u);
    EXPECT_EQ(waits.place, "fuse_wait");
    EXPECT_EQ(waits.looks, kind == TracingNews::Kind::kTracerLooks);
  }
}

TEST(NewsForHost, ThatAProcessIsRecordedFromNowOnIsPassedOn) {
  const auto message = message_of(TracingNews{.kind = TracingNews::Kind::kRecording, .process = 7});
  ASSERT_TRUE(message.has_value());
  ASSERT_EQ(message->kind, Kind::kAttached);
  EXPECT_EQ(line::decode_attached(message->fields).pid, 7u);
}

TEST(NewsForHost, WhatOtherMessagesSayIsNotRepeated) {
  EXPECT_FALSE(message_of(supervision::FinishedTrace{.path = "", .pid = 7, .failure = ""}).has_value());
}

}  // namespace
}  // namespace heaptap::uplink
