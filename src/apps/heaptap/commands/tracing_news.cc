#include "apps/heaptap/commands/tracing_news.h"

#include <fmt/format.h>

#include "analysis/findings/note_text.h"

namespace heaptap::app {

std::string text_of_wait(const WaitOfTracer& wait) {
  const std::string place = wait.place.empty() ? "" : " (" + wait.place + ")";
  if (wait.looks) {
    return fmt::format(
        "the tracer (process {}) is waiting for a file, or a page of one, that doesn't arrive{}; it gives up after 2 s",
        wait.process, place);
  }
  return fmt::format(
      "the tracer (process {}) is blocked in the kernel{}, and the programs it traces may hang: unblock it (does a "
      "file system not respond?). `kill -KILL {}` would detach, but the programs would die at their next breakpoint",
      wait.process, place, wait.process);
}

std::string text_of(const supervision::TracingNews& news, std::string_view way_out) {
  using Kind = supervision::TracingNews::Kind;
  switch (news.kind) {
    case Kind::kRecording:
      return fmt::format("heaptap: recording process {}{}{}\n", news.process,
                         news.program.empty() ? "" : " (" + news.program + ")", way_out);
    case Kind::kNotRecorded:
      return fmt::format("heaptap: process {} isn't recorded: {}\n", news.process, news.why);
    case Kind::kEndedBefore:
      return fmt::format("heaptap: process {} ended before it could be recorded\n", news.process);
    case Kind::kTracerWaits:
    case Kind::kTracerLooks:
      return fmt::format("heaptap: {}\n", text_of_wait({.process = static_cast<uint64_t>(news.process),
                                                        .place = news.why,
                                                        .looks = news.kind == Kind::kTracerLooks}));
    case Kind::kTracerEnded:
      break;
  }
  return fmt::format("heaptap: {}: recording has stopped\n",
                     findings::end_of_tracer(supervision::tracer_end_note(news.status)));
}

}  // namespace heaptap::app
