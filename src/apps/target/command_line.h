// Command line of heaptap-target.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/line/compression.h"
#include "common/line/record_order.h"

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
  std::string keys;                              // directory; empty: this user's
  bool once = false;                             // one recording
  std::optional<line::Compression> compression;  // else as the host says
  bool attach_only = false;                      // hosts start no programs
  std::vector<std::string> allowed;              // files of programs; empty: all
  std::string user;                              // whom hosts' recordings are made as; empty: whom this runs as
  bool no_scan_data = false;                     // nothing of a process's memory leaves this machine
  bool announce = false;                         // on the local networks
  uint64_t log_memory_bytes = 0;
  uint64_t buffer_bytes = 0;  // queue for the host; 0: default
  std::optional<std::chrono::nanoseconds> orphan_timeout;
  std::optional<std::chrono::nanoseconds> exit_wait;
  bool no_fetch = false;  // no file leaves this machine
  bool quiet = false;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);  // monitor

  std::string key;       // pair: the host's fingerprint; empty: none
  std::string key_name;  // name chosen by the user

  // Of what is recorded without a host that asks for it.
  line::RecordOrder order;
  std::optional<std::chrono::nanoseconds> duration;  // then all is detached
  bool wait = false;                                 // begins when a host is there
  std::string output;                                // file, in place of a host
  bool force = false;                                // overwrite it

  // Whether it concerns recordings that run here.
  [[nodiscard]] bool asks_recordings() const { return command >= Command::kStatus && command <= Command::kClear; }
  [[nodiscard]] bool begins_by_itself() const {
    return command == Command::kRun || command == Command::kAttach || command == Command::kRecord;
  }
  // Whether the host is to be found: there is no address, at most an announced name.
  [[nodiscard]] bool goes_by_announcement() const;
};

base::Result<Options> parse(std::span<const char* const> arguments);
std::string help_text();

}  // namespace heaptap::target
