#include "apps/target/file_news.h"

#include "common/base/mount_table.h"

namespace heaptap::target {
namespace {

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

}  // namespace

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage) {
  const std::string what = file.path + ": its file system" + in_brackets(file.type) + " doesn't respond";
  return stage == base::ServedFiles::Stage::kWaits ? "waiting for " + what
                                                   : "gave up on " + what + " and isn't used any more";
}

std::string text_of(const supervision::StandingThread& thread) {
  if (thread.file.empty()) {
    return "waiting in the kernel" + in_brackets(thread.place) + ": does a file system not respond?";
  }
  const auto mounts = base::own_mounts();
  const base::Mount* const mount = base::find_mount(*mounts, thread.file);
  return "waiting for " + thread.file + ": its file system" + in_brackets(mount == nullptr ? "" : mount->type) +
         " doesn't respond";
}

std::string text_at_end(const base::SilentFile& file) {
  const std::string end = base::abort_switch(file);
  return "still waiting for " + file.path +
         ": if heaptap-target doesn't exit, end the program that serves its file system" +
         (end.empty() ? "" : ", or write 1 to " + end + " (as root)");
}

std::string text_of(const supervision::TracingNews& news) {
  using Kind = supervision::TracingNews::Kind;
  const std::string tracer = "the tracer (process " + std::to_string(news.process) + ") is ";
  if (news.kind == Kind::kTracerWaits) {
    return tracer + "blocked in the kernel" + in_brackets(news.why) +
           ", and the programs it traces may hang: unblock it (does a file system not respond?). `kill -KILL " +
           std::to_string(news.process) + "` would detach, but the programs would die at their next breakpoint";
  }
  if (news.kind != Kind::kTracerLooks) return {};
  return tracer + "waiting for a file, or a page of one, that doesn't arrive" + in_brackets(news.why) +
         "; it gives up after 2 s";
}

}  // namespace heaptap::target
