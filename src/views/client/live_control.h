// Control of a recording in progress, and news of it. Processes as for Recording (recording.h). One thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/control/control_messages.h"
#include "views/client/program_id.h"

namespace heaptap::client {

using control::News;

// Lag of the live ledger behind the trace.
struct Freshness {
  uint64_t read_bytes = 0;     // of the trace, by the live ledger
  uint64_t written_bytes = 0;  // of the trace
  [[nodiscard]] bool is_behind() const { return read_bytes < written_bytes; }
};

enum class ScanKind : uint8_t {
  kAll,
  kNew,   // blocks allocated since the last scan
  kLost,  // blocks lost in the last scan
};

struct ScanResult {
  uint32_t number = 0;  // of the scan in the process's trace, from 1
  uint32_t since = 0;   // the scan it is compared with; 0: none
};

class LiveControl {
 public:
  virtual base::Result<> start(uint32_t pid) = 0;
  virtual base::Result<> stop(uint32_t pid) = 0;
  virtual base::Result<> reset(uint32_t pid) = 0;
  // Returns the number of processes that were marked.
  virtual base::Result<size_t> mark(uint32_t pid, const std::string& name) = 0;
  virtual base::Result<ScanResult> scan(uint32_t pid, ScanKind kind) = 0;
  virtual base::Result<> set_depth(uint32_t depth) = 0;
  virtual base::Result<> detach(uint32_t pid) = 0;
  virtual base::Result<> kill(uint32_t pid, const std::string& signal) = 0;

  [[nodiscard]] virtual Freshness freshness(ProgramId program) = 0;

  // Called whenever a signal interrupts a wait for an answer: true ends the wait, and the call fails.
  virtual void set_give_up(std::function<bool()> give_up) = 0;

  // Readable when there is news; -1: there never is any.
  [[nodiscard]] virtual int news_descriptor() const = 0;
  virtual std::vector<News> take_news() = 0;

 protected:
  LiveControl() = default;
  LiveControl(const LiveControl&) = default;
  LiveControl(LiveControl&&) = default;
  LiveControl& operator=(const LiveControl&) = delete;
  LiveControl& operator=(LiveControl&&) = delete;
  ~LiveControl() = default;
};

}  // namespace heaptap::client
