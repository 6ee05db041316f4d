// A step of the injector in a process of its own, which traces threads of the target. Its end makes the kernel detach from all of them,
// without stopping any.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "capture/inject/quiesce.h"
#include "common/base/address_range.h"
#include "common/base/unique_fd.h"
#include "common/base/wait_status.h"

namespace heaptap::inject {

struct StepOutcome {
  static constexpr size_t kMaxWhyBytes = 400;
  static constexpr size_t kMaxRanges = 64;
  bool is_done = false;
  bool has_died = false;  // before it could tell what it had done
  uint32_t range_count = 0;
  base::AddressRange ranges[kMaxRanges];
  QuiesceFigures figures;
  char why[kMaxWhyBytes] = {};  // where it isn't done

  void fail(std::string_view text) {
    is_done = false;
    const size_t bytes = std::min(text.size(), kMaxWhyBytes - 1);
    std::memcpy(why, text.data(), bytes);
    why[bytes] = '\0';
  }
};
static_assert(std::is_trivially_copyable_v<StepOutcome>);

// `work` fills in the outcome.
template <typename Work>
StepOutcome in_own_process(const Work& work) {
  StepOutcome outcome;
  outcome.fail("the injector's process has failed");
  int ends[2];
  if (pipe(ends) != 0) return outcome;
  base::UniqueFd from(ends[0]);
  base::UniqueFd to(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    work(outcome);
    [[maybe_unused]] const ssize_t written = write(to.get(), &outcome, sizeof(outcome));
    _exit(0);
  }
  to.reset();
  if (child < 0) return outcome;
  outcome.has_died = true;
  StepOutcome received;
  ssize_t got = -1;
  do {
    got = read(from.get(), &received, sizeof(received));
  } while (got < 0 && errno == EINTR);
  if (got == sizeof(received)) outcome = received;
  (void)base::wait_for(child);
  return outcome;
}

}  // namespace heaptap::inject
