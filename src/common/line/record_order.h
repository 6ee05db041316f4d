// Recording order for the target's side: what to record, and how. Sent in one message; numbers and texts only.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/line/compression.h"
#include "common/message/message.h"
#include "common/wire/release_stacks.h"

namespace heaptap::line {

struct RecordOrder {
  std::vector<std::string> command;      // program and arguments; empty: none is started
  std::vector<std::string> environment;  // VAR=VALUE, added to the existing one
  std::string user;                      // that the program runs as; empty: that of the target's side
  std::vector<pid_t> processes;          // running processes to attach to
  std::string via;                       // "agent", "ptrace", or empty: automatic
  bool follow_fork = false;
  bool follow_exec = false;
  bool no_cpp = false;
  bool leak_scan = true;
  bool drop_on_overflow = false;
  uint32_t depth = 0;  // frames per stack; 0: all
  wire::ReleaseStacks release_stacks = wire::kUsualReleaseStacks;
  uint64_t log_memory_bytes = 0;  // 0: default of the target's side
  int report_signal = 0;
  std::vector<std::string> omit;
  bool fetches = false;  // module files, which are kept open for that
  Compression compression = Compression::kAuto;
};

message::Fields encode(const RecordOrder& order);
// Error: invalid order.
base::Result<RecordOrder> decode_order(const message::Fields& fields);

}  // namespace heaptap::line
