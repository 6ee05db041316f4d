#include "capture/log/mapped_log.h"

#include <cerrno>

#include "capture/log/futex.h"

namespace heaptap::log {

MappedLog::MappedLog(wire::LogHeader& header, const wire::LogLayout& layout)
    : header_(header),
      layout_(layout),
      clock_(header),
      slots_(reinterpret_cast<wire::StreamSlot*>(reinterpret_cast<uint8_t*>(&header) + layout.slots_offset)),
      chunks_(reinterpret_cast<uint8_t*>(&header) + layout.chunks_offset) {}

bool MappedLog::wait(std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds) {
  return futex_wait(word, value, milliseconds) == 0 || errno != EINTR;
}

void MappedLog::wake(std::atomic<uint32_t>& word) { futex_wake(word); }

}  // namespace heaptap::log
