// A step of the injector in a process of its own, which traces threads of the target. Its end makes the kernel detach from all of them,
// without stopping any.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "capture/inject/quiesce.h"
#include "common/base/wait_status.h"

namespace heaptap::inject {

// Descriptors in the process, as long as a step needs them. -1: not open.
struct OpenedThere {
  int descriptors[3] = {-1, -1, -1};
};

struct StepOutcome {
  static constexpr size_t kMaxWhyBytes = 400;
  bool is_done = false;
  bool has_died = true;        // in the middle: what stands here is as far as it came
  uint64_t order_result = 0;   // of what the agent was ordered
  uint32_t removed_count = 0;  // of mappings. Where it has died it isn't known of the last one
  OpenedThere opened;
  Replaced replaced = Replaced::kNothing;
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

// `work` fills in the outcome, in memory that this process has, too: it doesn't go with the other one.
template <typename Work>
StepOutcome in_own_process(const Work& work) {
  StepOutcome outcome;
  outcome.has_died = false;
  outcome.fail("the injector's process can't be made");
  void* const memory = mmap(nullptr, sizeof(outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return outcome;
  auto* const shared = new (memory) StepOutcome;
  shared->fail("the injector's process has failed");
  const pid_t child = fork();
  if (child == 0) {
    work(*shared);
    shared->has_died = false;
    _exit(0);
  }
  if (child > 0) {
    (void)base::wait_for(child);
    outcome = *shared;
    outcome.is_done = outcome.is_done && !outcome.has_died;
  }
  munmap(memory, sizeof(outcome));
  return outcome;
}

}  // namespace heaptap::inject
