// mlockall hook: mlockall locks all mapped memory and counts it against the program's limit. The agent's memory is
// excluded: the program can lock as much as without it, and the log occupies memory only where it was written.
#include <linux/mman.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/call_permission.h"
#include "agent/core/kernel.h"
#include "agent/core/log_areas.h"
#include "agent/core/own_address.h"
#include "agent/core/pages.h"
#include "agent/core/platform.h"
#include "agent/core/session.h"
#include "agent/preload/real_functions.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace heaptap::agent {
namespace {

constexpr int kCurrent = MCL_CURRENT;
constexpr int kFuture = MCL_FUTURE;
constexpr int kOnFault = MCL_ONFAULT;
constexpr uint64_t kEndOfUserSpace = uint64_t{1} << 63;  // beyond: the kernel's, such as x86-64's vsyscall page

using Visit = void(void* context, uint64_t begin, uint64_t end);

// The addresses at the start of each line of /proc/self/maps ("begin-end …"), as the bytes come by.
class MapsLine {
 public:
  // True: a mapping is complete.
  bool see(char byte) {
    if (byte == '\n') {
      part_ = 0;
      begin_ = end_ = 0;
      return false;
    }
    if (part_ > 1) return false;
    uint64_t& value = part_ == 0 ? begin_ : end_;
    const int digit = digit_of(byte);
    if (digit >= 0) {
      value = value << 4 | static_cast<uint64_t>(digit);
      return false;
    }
    ++part_;
    return part_ == 2;
  }
  [[nodiscard]] uint64_t begin() const { return begin_; }
  [[nodiscard]] uint64_t end() const { return end_; }

 private:
  static int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
  }
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  int part_ = 0;
};

// The agent's first range of addresses between these two.
OwnRange first_own(uint64_t from, uint64_t end) {
  OwnRange first{end, end};
  const auto offer = [&](uint64_t begin, uint64_t range_end) {
    if (range_end > from && begin < first.begin) first = {begin, range_end};
  };
  const FirstMappings log = first_mappings(g_session.log, g_session.layout.log);
  for (const MappedPart& part : {log.beginning, log.nodes}) {  // growth is noted as areas
    const auto begin = reinterpret_cast<uintptr_t>(part.start);
    offer(begin, begin + part.bytes);
  }
  const CodeExtent library = platform::own_code();
  offer(library.start, library.start + library.bytes);
  const OwnRange area = first_own_area(from, end);
  offer(area.begin, area.end);
  return first;
}

// Visits the program's part of a mapping.
void visit_programs(uint64_t begin, uint64_t end, Visit* visit, void* context) {
  while (begin < end && end <= kEndOfUserSpace) {
    const OwnRange own = first_own(begin, end);
    const uint64_t until = page_begin(own_address(own.begin));
    if (until > begin) visit(context, begin, until < end ? until : end);
    begin = whole_pages(own_address(own.end));
  }
}

// False: the mappings can't be read.
bool visit_all(Visit* visit, void* context) {
  const int descriptor = kernel::open_to_read("/proc/self/maps");
  if (descriptor < 0) return false;
  MapsLine line;
  char bytes[256];
  long count = 0;
  while ((count = kernel::read(descriptor, bytes, sizeof(bytes))) > 0) {
    for (long i = 0; i < count; ++i) {
      if (line.see(bytes[i])) visit_programs(line.begin(), line.end(), visit, context);
    }
  }
  kernel::close(descriptor);
  return count == 0;
}

void add_size(void* context, uint64_t begin, uint64_t end) { *static_cast<uint64_t*>(context) += end - begin; }

// Memory that can't be touched, such as a page without access, is locked, but with an error; mlockall ignores that,
// too.
void lock(void* context, uint64_t begin, uint64_t end) {
  const bool on_fault = *static_cast<const bool*>(context);
  const auto bytes = static_cast<long>(end - begin);
  kernel::call_for_program(on_fault ? __NR_mlock2 : __NR_mlock, static_cast<long>(begin), bytes, on_fault ? 1 : 0);
}

uint64_t lockable_bytes() {
  constexpr long kLockedMemory = 8;  // RLIMIT_MEMLOCK
  uint64_t limit[2] = {0, 0};
  kernel::system_call(__NR_prlimit64, 0, kLockedMemory, 0, reinterpret_cast<long>(limit));
  return limit[0];
}

// Locks all mappings except the agent's. False: impossible, or only permitted to a privileged program.
bool lock_programs(bool on_fault) {
  uint64_t bytes = 0;
  if (!visit_all(&add_size, &bytes) || bytes > lockable_bytes()) return false;
  return visit_all(&lock, &on_fault);
}

void unlock_own() {
  for (uint64_t at = 0; at < kEndOfUserSpace;) {
    const OwnRange own = first_own(at, kEndOfUserSpace);
    if (own.begin >= kEndOfUserSpace) return;
    kernel::system_call(__NR_munlock, static_cast<long>(own.begin), static_cast<long>(own.end - own.begin));
    at = own.end;
  }
}

bool is_recorded() {
  return may_call() && g_session_page.state.load(std::memory_order_acquire) == SessionState::kRecording;
}

int lock_all(int flags, int (*call)(int)) {
  if (!is_recorded() || (flags & ~(kCurrent | kFuture | kOnFault)) != 0) return call(flags);
  if ((flags & kFuture) != 0) make_reserve();
  int status = 0;
  if ((flags & kCurrent) != 0 && lock_programs((flags & kOnFault) != 0)) {
    if ((flags & kFuture) != 0) status = call(flags & ~kCurrent);
  } else {
    status = call(flags);
    if (status == 0 && (flags & kCurrent) != 0) unlock_own();
  }
  if (status == 0 && (flags & kFuture) != 0) keep_to_reserve();
  return status;
}

}  // namespace
}  // namespace heaptap::agent

using namespace heaptap::agent;

HEAPTAP_EXPORT int mlockall(int flags) {
  auto* call = real<int(int)>(Other::kLockAll);
  return call != nullptr ? lock_all(flags, call) : -1;
}
