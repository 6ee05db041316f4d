// Command lines: the arguments are separated by NUL bytes. An argument "@" stands for the path of a file with what is
// behind the first empty argument: so options are read from a file of any content.
#include <cstdint>
#include <string>
#include <vector>

#include "apps/heaptap/commands/command_line.h"
#include "fuzz/support/expect.h"
#include "fuzz/support/memory_file.h"

using namespace heaptap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  constexpr size_t kMaxBytes = 4096;  // matching options is quadratic in CLI11
  const std::string text(reinterpret_cast<const char*>(bytes), std::min(size_bytes, kMaxBytes));
  std::vector<std::string> arguments;
  size_t at = 0;
  while (at < text.size() && text[at] != '\0') {
    const size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  at = std::min(at + 1, text.size());
  const fuzz::MemoryFile file({bytes + at, text.size() - at});
  for (std::string& argument : arguments) {
    if (argument == "@") argument = file.path();
  }
  const auto command = app::parse_command_line(arguments);
  if (!command) FUZZ_EXPECT(!command.error().message.empty());
  return 0;
}
