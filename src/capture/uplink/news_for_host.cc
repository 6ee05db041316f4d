#include "capture/uplink/news_for_host.h"

#include "common/base/result.h"
#include "common/line/line_messages.h"

namespace heaptap::uplink {
namespace {

message::Message not_recorded(uint64_t pid, std::string why) {
  return line::message_of(line::NotRecorded{.pid = pid, .why = std::move(why)});
}

std::string end_of_tracer(base::WaitStatus status) {
  if (status.was_killed())
    return base::make_error("signal {} ended the tracer: recording has stopped", status.end_signal()).message;
  return base::make_error("the tracer exited with {}: recording has stopped", status.exit_code()).message;
}

}  // namespace

std::optional<message::Message> message_of(const supervision::TracingNews& news) {
  using Kind = supervision::TracingNews::Kind;
  const auto pid = static_cast<uint64_t>(news.process);
  switch (news.kind) {
    case Kind::kRecording:
      return line::message_of(line::Attached{.pid = pid});
    case Kind::kNotRecorded:
      return not_recorded(pid, news.why);
    case Kind::kEndedBefore:
      return not_recorded(pid, base::make_error("process {} ended before it could be recorded", pid).message);
    case Kind::kTracerEnded:
      return not_recorded(0, end_of_tracer(news.status));
    case Kind::kTracerWaits:
    case Kind::kTracerLooks:
      break;
  }
  return line::message_of(line::TracerWaits{.pid = pid, .place = news.why, .looks = news.kind == Kind::kTracerLooks});
}

std::optional<message::Message> message_of(const supervision::FinishedTrace& trace) {
  if (trace.failure.empty()) return std::nullopt;
  return not_recorded(trace.pid, base::make_error("process {} isn't recorded: {}", trace.pid, trace.failure).message);
}

}  // namespace heaptap::uplink
