// What the target's side is asked to record, and how. Travels in one message; numbers and texts alone.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/message.h"
#include "log/log_memory.h"
#include "remote/compression.h"

namespace heaptap::remote {

struct RecordOrder {
  std::vector<std::string> command;      // the program and its arguments; empty: none is started
  std::vector<std::string> environment;  // VAR=VALUE, besides what is there
  std::string user;                      // whom it runs as; empty: as the target's side does
  std::vector<pid_t> processes;          // that run already
  std::string via;                       // "agent", "ptrace", or empty: what is possible
  bool follow_fork = false;
  bool follow_exec = false;
  bool no_cpp = false;
  bool leak_scan = true;
  bool drop_on_overflow = false;
  uint32_t depth = 0;             // frames of a stack; 0: all
  uint64_t log_memory_bytes = 0;  // 0: what the target's side has by default
  int report_signal = 0;
  std::vector<std::string> omit;
  bool fetches = false;  // files of modules: they are kept open for that
  Compression compression = Compression::kAuto;
};

control::Fields encode(const RecordOrder& order);
// An error: it asks for what makes no sense.
base::Result<RecordOrder> decode_order(const control::Fields& fields);

}  // namespace heaptap::remote
