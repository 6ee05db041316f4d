// Unmapping calls in progress. If a range is mapped again before the unmapping thread is seen to return, it has been
// unmapped already, and is recorded so first.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <unordered_map>

#include "capture/tracer/log_writer.h"
#include "common/base/address_range.h"

namespace heaptap::tracer {

class Unmappings {
 public:
  void begin(pid_t thread, wire::LogStream* stream, const LogWriter::Event& event) {
    open_.insert_or_assign(thread, Unmapping{stream, event});
  }

  // The thread has returned, or is gone. True: its unmapping hasn't been recorded yet.
  bool end(pid_t thread) { return open_.erase(thread) > 0; }

  // `thread` got this range: records what other threads must have unmapped before.
  void mapped(pid_t thread, const base::AddressRange& range, LogWriter& log) {
    std::erase_if(open_, [&](const auto& entry) {
      const auto& [other, unmapping] = entry;
      const uint64_t begin = unmapping.event.address;
      const bool overlaps = begin < range.end && range.begin < begin + unmapping.event.size_bytes;
      if (other == thread || !overlaps) return false;
      log.write(unmapping.stream, unmapping.event);
      return true;
    });
  }

 private:
  struct Unmapping {
    wire::LogStream* stream;
    LogWriter::Event event;
  };
  std::unordered_map<pid_t, Unmapping> open_;
};

}  // namespace heaptap::tracer
