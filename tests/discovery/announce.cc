// Announces a service until its standard input ends: announce NAME PORT [secure]. A line of the input is the program that is recorded
// from then on. What the service is called stands on the standard output, at first and whenever it changes.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/discovery/announcer.h"

namespace {

using heaptap::discovery::Announcer;
using heaptap::discovery::kMillisecond;

void tell(const std::string& name) {
  std::printf("%s\n", name.c_str());
  std::fflush(stdout);
}

// Empty: it has ended.
std::string read_input() {
  std::array<char, 256> bytes;
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  return count > 0 ? std::string(bytes.data(), static_cast<size_t>(count)) : "";
}

void serve(Announcer& announcer) {
  std::string told;
  while (true) {
    if (announcer.name() != told) tell(told = announcer.name());
    std::vector<pollfd> waits{{STDIN_FILENO, POLLIN, 0}};
    announcer.add_waits(waits);
    const uint64_t now_ns = heaptap::base::clock_ns(CLOCK_MONOTONIC);
    const uint64_t wait_ns = announcer.next_deadline() - std::min(now_ns, announcer.next_deadline());
    poll(waits.data(), waits.size(), static_cast<int>((wait_ns + kMillisecond - 1) / kMillisecond));
    announcer.serve();
    if (waits[0].revents == 0) continue;
    const std::string line = read_input();
    if (line.empty()) return;
    announcer.set_program(line.substr(0, line.find('\n')));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return EXIT_FAILURE;
  auto announcer = Announcer::create({.name = argv[1],
                                      .port = static_cast<uint16_t>(std::strtoul(argv[2], nullptr, 10)),
                                      .cpu = "x86_64",
                                      .version = "0.1",
                                      .is_secure = argc > 3});
  if (!announcer) {
    std::fprintf(stderr, "%s\n", announcer.error().message.c_str());
    return EXIT_FAILURE;
  }
  serve(*announcer);
  return EXIT_SUCCESS;
}
