#include "apps/heaptap/commands/file_news.h"

#include <fmt/format.h>

#include "apps/heaptap/commands/terminal.h"
#include "common/base/mount_table.h"
#include "common/base/safe_text.h"

namespace heaptap::app {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage) {
  const std::string path = base::safe_text(file.path);
  const std::string type = file.type.empty() ? "not mounted here" : base::safe_text(file.type);
  if (stage == base::ServedFiles::Stage::kWaits)
    return fmt::format("heaptap: waiting for {}: its file system ({}) doesn't respond\n", path, type);
  return fmt::format(
      "heaptap: gave up on {}: its file system ({}) doesn't respond and isn't used any more; names may be missing\n",
      path, type);
}

std::string text_of(const supervision::StandingThread& thread) {
  const auto mounts = base::own_mounts();
  const base::Mount* const mount = base::find_mount(*mounts, thread.file);
  const std::string place = thread.place.empty() ? "" : fmt::format(" ({})", thread.place);
  if (thread.file.empty())
    return fmt::format("heaptap: waiting in the kernel{}: does a file system not respond?\n", place);
  return fmt::format("heaptap: waiting for {}: its file system{} doesn't respond\n", base::safe_text(thread.file),
                     mount == nullptr ? "" : fmt::format(" ({})", base::safe_text(mount->type)));
}

void print_awaited_files() {
  for (const base::SilentFile& file : base::ServedFiles::of_process().awaited()) {
    const std::string end = base::abort_switch(file);
    print_error(fmt::format(
        "heaptap: still waiting for {}: if heaptap doesn't exit, end the program that serves its file system{}\n",
        base::safe_text(file.path), end.empty() ? "" : fmt::format(", or write 1 to {} (as root)", end)));
  }
}

supervision::OwnWaits watch_own_waits() {
  return supervision::OwnWaits([](const supervision::StandingThread& thread) { print_error(text_of(thread)); });
}

}  // namespace heaptap::app
