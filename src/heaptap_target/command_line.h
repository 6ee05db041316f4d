// What heaptap-target is asked to do.
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
  std::string address;        // empty: by default. report, clear: a PID, if any; mark: its name
  bool goes_to_host = false;  // there; else it waits for the host
  std::string agent;          // file; empty: beside this program
  std::string token_file;
  std::string keys;                                // folder; empty: this user's
  bool once = false;                               // one recording
  std::optional<remote::Compression> compression;  // else as the host says
  bool attach_only = false;                        // hosts start no programs
  std::vector<std::string> allowed;                // files of programs; empty: all
  std::string user;                                // whom hosts' recordings are made as; empty: whom this runs as
  bool no_scan_data = false;                       // nothing of a process's memory leaves this machine
  bool announce = false;                           // on the local networks
  uint64_t log_memory_bytes = 0;
  uint64_t buffer_bytes = 0;  // of what waits for the host; 0: by default
  std::optional<std::chrono::nanoseconds> orphan_timeout;
  std::optional<std::chrono::nanoseconds> exit_wait;
  bool no_fetch = false;  // no file leaves this machine
  bool quiet = false;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);  // monitor

  std::string key;       // pair: the host's fingerprint; empty: none
  std::string key_name;  // what the user calls it

  // Of what is recorded without a host that asks for it.
  remote::RecordOrder order;
  std::optional<std::chrono::nanoseconds> duration;  // then all is let go
  bool wait = false;                                 // begins when a host is there
  std::string output;                                // file, in place of a host
  bool force = false;                                // overwrite it

  // It is about recordings that go on here.
  [[nodiscard]] bool asks_recordings() const { return command >= Command::kStatus && command <= Command::kClear; }
  [[nodiscard]] bool begins_by_itself() const {
    return command == Command::kRun || command == Command::kAttach || command == Command::kRecord;
  }
};

base::Result<Options> parse(std::span<const char* const> arguments);
const char* help_text();

}  // namespace heaptap::target
