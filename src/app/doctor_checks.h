// What `heaptap doctor` concludes about this machine: a check a subject, with its cause and the commands that fix it. Pure: what
// was read and tried comes in.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/machine_facts.h"
#include "log/clock_trust.h"

namespace heaptap::app {

enum class Verdict : uint8_t { kOk, kNote, kFail };

struct Check {
  std::string name;
  Verdict verdict = Verdict::kOk;
  std::string text;
  std::vector<std::string> fixes = {};  // commands
};

// What is to be recorded, and how: only what that needs can fail.
enum class Need : uint8_t {
  kAnything,  // nothing is named: the agent, ptrace and leak scans are to work
  kAgent,     // a program, by the agent
  kTracer,    // a program, by ptrace
  kAttach,    // a process that runs; whether it can be attached to is a check of its own
};

// What was tried.
struct Trials {
  base::Result<std::string> agent;  // its file, which the loader takes
  base::Result<> cpu;
  base::Result<> own_needs;
  base::Result<> log_memory;
  base::Result<> tracing;
  base::Result<> output;  // a file in the working directory
  log::ClockVerdict clock = {};
  std::string own_path = {};  // of heaptap itself
};

// `command`, as this user can run it as root.
std::string as_root(const collect::MachineFacts& facts, const std::string& command);

std::vector<Check> check_machine(const collect::MachineFacts& facts, const Trials& trials, Need need);

}  // namespace heaptap::app
