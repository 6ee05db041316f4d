// Checks of `heaptap doctor PROGRAM` and `heaptap doctor PID`: the target, its capture method with the reason, available symbols.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "apps/heaptap/doctor/doctor_checks.h"

namespace heaptap::app {

struct TargetChecks {
  std::vector<Check> checks;
  Need need = Need::kAgent;  // on this machine
};

TargetChecks check_program(const MachineFacts& facts, const std::string& name);
TargetChecks check_target_process(const MachineFacts& facts, pid_t process);

}  // namespace heaptap::app
