#include "apps/heaptap/commands/pager.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "apps/heaptap/commands/terminal.h"
#include "common/base/command_search.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"
#include "views/shell/interrupts.h"

namespace heaptap::app {
namespace {

constexpr const char* kUsualPager = "less -FRX";

std::string first_word(std::string_view command) {
  const size_t begin = std::min(command.find_first_not_of(' '), command.size());
  return std::string(command.substr(begin, command.find(' ', begin) - begin));
}

}  // namespace

const char* pager_command() {
  for (const char* name : {"HEAPTAP_PAGER", "PAGER"}) {
    const char* const command = std::getenv(name);
    if (command == nullptr) continue;
    const std::string program = first_word(command);
    return program.empty() || program == "cat" ? nullptr : command;
  }
  return kUsualPager;
}

Output::Output(bool paged) {
  if (!paged || isatty(STDOUT_FILENO) != 1) return;
  const char* const command = pager_command();
  if (command == nullptr || !base::is_command(first_word(command))) return;
  if (start(command)) (void)std::signal(SIGPIPE, SIG_IGN);
}

bool Output::start(const char* command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  base::UniqueFd read_end(ends[0]);
  base::UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  std::string text(command);
  std::array<char, 3> shell{"sh"};
  std::array<char, 3> option{"-c"};
  const std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  const int error = posix_spawn(&pager_, "/bin/sh", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  pipe_ = write_end.release();
  return true;
}

base::Result<> Output::write(std::string_view piece) {
  shell::throw_if_interrupted();
  if (pipe_ < 0) return write_output(piece);
  while (!piece.empty() && !is_left_) {
    const ssize_t written = ::write(pipe_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      is_left_ = true;  // the user has quit
      break;
    }
    piece.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

base::Result<> Output::finish() { return pipe_ < 0 ? flush_output() : base::Result<>{}; }

Output::~Output() {
  if (pipe_ < 0) return;
  base::UniqueFd(pipe_).reset();
  // SIGINT is for the pager.
  struct sigaction ignored{};
  struct sigaction before{};
  ignored.sa_handler = SIG_IGN;
  (void)sigaction(SIGINT, &ignored, &before);
  (void)base::wait_for(pager_);
  (void)sigaction(SIGINT, &before, nullptr);
}

}  // namespace heaptap::app
