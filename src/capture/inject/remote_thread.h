// One thread of a running process, stopped so that it makes system calls and runs a function for the injector. Afterwards its registers,
// its mask and the call that it waited in are as before. x86-64. All calls from one thread, which traces it.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/result.h"

namespace heaptap::inject {

class RemoteThread {
 public:
  // `thread` is traced by the caller. Stops it. `instruction`: address of a system call instruction in the process.
  static base::Result<RemoteThread> stop(pid_t thread, uint64_t instruction);
  // Lets it continue, traced as before.
  ~RemoteThread();
  RemoteThread(RemoteThread&&) noexcept;
  RemoteThread& operator=(RemoteThread&&) = delete;

  // The kernel's result. None: the thread is gone.
  std::optional<int64_t> call(uint64_t number, const std::array<uint64_t, 6>& arguments);
  // The result of a function that ends at a breakpoint, on this stack. None: it is gone, or has failed, and is back where it was.
  std::optional<uint64_t> run(uint64_t function, uint64_t stack_top);

 private:
  struct State;
  explicit RemoteThread(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::inject
