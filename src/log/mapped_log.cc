#include "log/mapped_log.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace heaptap::log {

MappedLog::MappedLog(wire::LogHeader& header, const wire::LogLayout& layout)
    : header_(header),
      layout_(layout),
      clock_(header),
      slots_(reinterpret_cast<wire::StreamSlot*>(reinterpret_cast<uint8_t*>(&header) + layout.slots_offset)),
      chunks_(reinterpret_cast<uint8_t*>(&header) + layout.chunks_offset) {}

bool MappedLog::wait(std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
  const timespec limit{milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1'000'000};
  return syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0) == 0 || errno != EINTR;
}

void MappedLog::wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace heaptap::log
