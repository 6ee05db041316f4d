// One thread of a running process, stopped so that it makes system calls and runs a function for the injector. Afterwards its registers,
// its mask and the call that it waited in are as before; and so they are if the caller is killed in between, however it is: see
// return_frame.h. x86-64. All calls from one thread, which traces it.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "capture/inject/memory_file.h"
#include "capture/inject/return_frame.h"
#include "common/base/address_range.h"
#include "common/base/result.h"

namespace heaptap::inject {

class RemoteThread {
 public:
  // `thread` is traced by the caller, with PTRACE_O_TRACESYSGOOD. Stops it. Fails where it can't be stopped, or has no room for its return:
  // then it isn't traced any more.
  static base::Result<RemoteThread> stop(pid_t thread, const ReturnCode& code, const MemoryFile& memory);
  // The same of one that the caller has stopped already, as PTRACE_INTERRUPT does, in user code.
  static base::Result<RemoteThread> of_stopped(pid_t thread, const ReturnCode& code, const MemoryFile& memory);
  // Lets it continue, traced as before.
  ~RemoteThread();
  // Or leaves it stopped.
  void leave_stopped() &&;
  RemoteThread(RemoteThread&&) noexcept;
  RemoteThread& operator=(RemoteThread&&) = delete;

  // The kernel's result. None: the thread is gone.
  std::optional<int64_t> call(uint64_t number, const std::array<uint64_t, 6>& arguments);
  // The result of a function on this stack, which waits in its own code when it is done, as heaptap_injected_enter does. `read_result`: asked
  // until there is one. None: the thread is gone, or the function has failed, and the thread is back where it was. If it doesn't wait long
  // enough the thread has gone on, and can do nothing more.
  std::optional<uint64_t> run(base::AddressRange function, uint64_t stack_top,
                              const std::function<std::optional<uint64_t>()>& read_result);

 private:
  struct State;
  static base::Result<RemoteThread> borrow(std::unique_ptr<State> state);
  explicit RemoteThread(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::inject
