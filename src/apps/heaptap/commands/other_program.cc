#include "apps/heaptap/commands/other_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace heaptap::app {

std::expected<pid_t, int> start_program(const std::vector<std::string>& words, bool has_terminal) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!has_terminal) posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  }
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::unexpected(error);
  return process;
}

}  // namespace heaptap::app
