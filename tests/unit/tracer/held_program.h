// A program of held/ that was started: where it says that its functions are, and what it does when it is told to go on.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace heaptap::test {

struct Environment {
  std::string preload{};
  std::string root{};
};

class HeldProgram {
 public:
  // Runs until it has told its addresses. `arguments` begin with the program's path.
  explicit HeldProgram(std::vector<std::string> arguments, const Environment& environment = {}) {
    int to[2];
    int from[2];
    if (pipe(to) != 0 || pipe(from) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      if (!environment.preload.empty()) setenv("LD_PRELOAD", environment.preload.c_str(), 1);
      if (!environment.root.empty() && (chroot(environment.root.c_str()) != 0 || chdir("/") != 0)) _exit(126);
      std::vector<char*> words;
      for (std::string& argument : arguments) words.push_back(argument.data());
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = fdopen(from[0], "r");
    is_ready_ = read_lines();
  }
  ~HeldProgram() {
    if (process_ > 0) kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(to_);
    fclose(from_);
  }
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;

  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] pid_t id() const { return process_; }
  [[nodiscard]] const std::map<std::string, uint64_t>& told() const { return told_; }
  bool go_on() { return write(to_, "x", 1) == 1 && read_lines(); }

 private:
  bool read_lines() {
    char name[64];
    unsigned long long value;
    while (fscanf(from_, "%63s %llx", name, &value) == 2) {
      if (std::string(name) == "done") return true;
      told_[name] = value;
    }
    return false;
  }

  pid_t process_ = -1;
  int to_ = -1;
  FILE* from_ = nullptr;
  bool is_ready_ = false;
  std::map<std::string, uint64_t> told_;
};

}  // namespace heaptap::test
