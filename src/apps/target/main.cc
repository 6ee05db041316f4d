// heaptap-target: the part of heaptap that runs beside the program, with everything else on another machine.
#include <unistd.h>

#include <exception>
#include <string>

#include "apps/target/command_line.h"
#include "apps/target/console.h"
#include "apps/target/file_news.h"
#include "apps/target/pair.h"
#include "apps/target/run.h"
#include "apps/target/serve.h"
#include "apps/target/setup.h"
#include "common/base/exit_status.h"
#include "common/base/served_files.h"

namespace {

void print(int descriptor, const std::string& text) {
  if (write(descriptor, text.data(), text.size()) < 0) return;
}

int fail(const heaptap::base::Error& error) {
  print(STDERR_FILENO, "heaptap-target: " + error.message + "\n");
  return heaptap::base::exit_status_of(error.kind);
}

int print_result(const heaptap::base::Result<std::string>& text) {
  if (!text) return fail(text.error());
  print(STDOUT_FILENO, *text);
  return 0;
}

int perform(int count, char** arguments) {
  using heaptap::target::Command;
  heaptap::base::ServedFiles::of_process().tell_by(
      [](const heaptap::base::SilentFile& file, heaptap::base::ServedFiles::Stage stage) {
        heaptap::target::warn(heaptap::target::text_of(file, stage));
      });
  const auto options = heaptap::target::parse({arguments + 1, static_cast<size_t>(count > 0 ? count - 1 : 0)});
  if (!options) return fail(options.error());
  if (options->command == Command::kHelp) {
    print(STDOUT_FILENO, heaptap::target::help_text());
    return 0;
  }
  if (options->command == Command::kVersion) {
    print(STDOUT_FILENO, "heaptap-target " HEAPTAP_VERSION "\n");
    return 0;
  }
  if (options->command == Command::kPair) return print_result(heaptap::target::pair(*options));
  if (options->command == Command::kToken) return print_result(heaptap::target::make_token(STDOUT_FILENO));
  if (options->asks_recordings()) {
    const auto done = heaptap::target::ask_recordings(*options);
    return done ? 0 : fail(done.error());
  }
  if (options->begins_by_itself()) {
    const auto status = heaptap::target::run(*options);
    return status ? *status : fail(status.error());
  }
  const auto done = heaptap::target::serve(*options);
  return done ? 0 : fail(done.error());
}

}  // namespace

int main(int count, char** arguments) try {
  const int status = perform(count, arguments);
  for (const heaptap::base::SilentFile& file : heaptap::base::ServedFiles::of_process().awaited()) {
    heaptap::target::warn(heaptap::target::text_at_end(file));
  }
  return status;
} catch (const std::exception& error) {
  print(STDERR_FILENO, std::string("heaptap-target: ") + error.what() + "\n");
  return heaptap::base::kExitFailed;
}
