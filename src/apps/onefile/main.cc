// The head of the one file: unpacks the programs behind it into a cache of the user's, where that isn't done yet, and becomes the one that
// its own name says.
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

#include "apps/onefile/payload.h"
#include "apps/onefile/place.h"
#include "apps/onefile/unpack.h"
#include "common/base/small_file.h"

namespace {

using namespace heaptap;

constexpr int kFailed = 125;  // as of heaptap run: it isn't the fault of the program that was to be recorded

void print(int descriptor, const std::string& text) {
  if (write(descriptor, text.data(), text.size()) < 0) return;
}

int fail(const std::string& message) {
  print(STDERR_FILENO, "heaptap: " + message + "\n");
  return kFailed;
}

std::string program_for(const char* own_name) {
  const bool is_target = own_name != nullptr && base::file_name_of(own_name).starts_with("heaptap-target");
  return is_target ? "/bin/heaptap-target" : "/bin/heaptap";
}

// Returns only where no place is of use.
int become_program(char** arguments, const onefile::Payload& payload) {
  std::string reasons;
  for (const onefile::Place& place : onefile::places_of_user()) {
    const auto programs = onefile::programs_in(place, payload);
    if (!programs) {
      reasons += "\n  " + programs.error().message;
      continue;
    }
    const std::string program = *programs + program_for(arguments[0]);
    (void)execv(program.c_str(), arguments);
    reasons += "\n  " + program + ": " + base::reason_of(errno);
  }
  return fail(fmt::format(
      "can't unpack heaptap's programs:{}\n  needed is a directory of yours with {} MiB, where programs may run: "
      "XDG_CACHE_HOME=DIRECTORY {} …; or put them elsewhere: {} --unpack DIRECTORY",
      reasons, (payload.archive.size() >> 20) + 1, arguments[0], arguments[0]));
}

int unpack(int count, char** arguments, const onefile::Payload& payload) {
  if (count != 3) return fail("--unpack: give one directory, which doesn't exist yet");
  const std::string directory = arguments[2];
  if (const auto done = onefile::unpack_to(directory, payload); !done) return fail(done.error().message);
  print(STDOUT_FILENO, "heaptap: unpacked; run it by " + directory + "/bin/heaptap\n");
  return 0;
}

int perform(int count, char** arguments) {
  const std::string_view first = count > 1 ? arguments[1] : "";
  const auto payload = onefile::read_own_payload();
  if (!payload && count == 4 && first == "--pack") {  // of the build
    const auto done = onefile::write_with_payload(arguments[2], arguments[3]);
    return done ? 0 : fail(done.error().message);
  }
  if (!payload) return fail(payload.error().message);
  if (first == "--unpack") return unpack(count, arguments, *payload);
  return become_program(arguments, *payload);
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 1) return fail("started without a name");
  return perform(count, arguments);
} catch (const std::exception& error) {
  return fail(error.what());
}
