// Checks of this machine for `heaptap doctor`: one per subject, with cause and commands that fix it. Pure functions of the given facts
// and trials.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "apps/heaptap/doctor/machine_facts.h"
#include "capture/log/clock_trust.h"
#include "common/base/result.h"

namespace heaptap::app {

enum class Verdict : uint8_t { kOk, kNote, kFail };

struct Check {
  std::string name;
  Verdict verdict = Verdict::kOk;
  std::string text;
  std::vector<std::string> fixes = {};  // commands
};

// Planned recording: only its requirements can fail.
enum class Need : uint8_t {
  kAnything,  // nothing is named: agent, ptrace and leak scans must work
  kAgent,     // a program, by the agent
  kTracer,    // a program, by ptrace
  kAttach,    // a running process; permission to attach is a check of its own
};

// Results of trial operations.
struct Trials {
  base::Result<std::string> agent;  // path, if the loader accepts it
  base::Result<> cpu;
  base::Result<> own_needs;
  base::Result<> log_memory;
  base::Result<> tracing;
  base::Result<> output;  // a file in the working directory can be created
  log::ClockVerdict clock = {};
  std::string own_path = {};  // path of heaptap itself
};

// `command` as this user can run it as root.
std::string as_root(const MachineFacts& facts, const std::string& command);

std::vector<Check> check_machine(const MachineFacts& facts, const Trials& trials, Need need);

}  // namespace heaptap::app
