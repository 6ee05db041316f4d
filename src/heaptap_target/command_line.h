// Command line of heaptap-target.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "remote/compression.h"
#include "remote/record_order.h"

namespace heaptap::target {

enum class Command : uint8_t {
  kServe,
  kConnect,
  kRun,
  kAttach,
  kRecord,
  kPair,
  kToken,
  kStatus,
  kMonitor,
  kReport,
  kMark,
  kClear,
  kHelp,
  kVersion
};

struct Options {
  Command command = Command::kHelp;
  std::string address;        // empty: default. report, clear: a PID, if any; mark: its name
  bool goes_to_host = false;  // connects to the host; else waits for it
  std::string agent;          // file; empty: beside this program
  std::string token_file;
  std::string keys;                                // directory; empty: this user's
  bool once = false;                               // exits after one recording
  std::optional<remote::Compression> compression;  // else the host decides
  bool attach_only = false;                        // hosts can't start programs
  std::vector<std::string> allowed;                // executable files; empty: all
  std::string user;                                // user for hosts' recordings; empty: this process's
  bool no_scan_data = false;                       // no data from a process's memory leaves this machine
  bool announce = false;                           // on the local networks
  uint64_t log_memory_bytes = 0;
  uint64_t buffer_bytes = 0;  // queue for the host; 0: default
  std::optional<std::chrono::nanoseconds> orphan_timeout;
  std::optional<std::chrono::nanoseconds> exit_wait;
  bool no_fetch = false;  // no file leaves this machine
  bool quiet = false;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);  // monitor

  std::string key;       // pair: the host's fingerprint; empty: none
  std::string key_name;  // name chosen by the user

  // For a recording without a host's order.
  remote::RecordOrder order;
  std::optional<std::chrono::nanoseconds> duration;  // then detaches from all processes
  bool wait = false;                                 // starts once a host is connected
  std::string output;                                // file, in place of a host
  bool force = false;                                // overwrite it

  // Whether it concerns recordings that run here.
  [[nodiscard]] bool asks_recordings() const { return command >= Command::kStatus && command <= Command::kClear; }
  [[nodiscard]] bool begins_by_itself() const {
    return command == Command::kRun || command == Command::kAttach || command == Command::kRecord;
  }
};

base::Result<Options> parse(std::span<const char* const> arguments);
const char* help_text();

}  // namespace heaptap::target
