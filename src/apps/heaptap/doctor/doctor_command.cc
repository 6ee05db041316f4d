#include "apps/heaptap/doctor/doctor_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "apps/heaptap/commands/agent_file.h"
#include "apps/heaptap/commands/output_check.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/doctor/doctor_checks.h"
#include "apps/heaptap/doctor/doctor_target.h"
#include "apps/heaptap/doctor/doctor_text.h"
#include "apps/heaptap/options/pid_word.h"
#include "capture/launch/own_needs.h"
#include "capture/log/log_memory.h"
#include "common/base/exit_status.h"

namespace heaptap::app {
namespace {

constexpr int kExitPrevented = 1;

base::Result<std::string> try_own_agent() {
  auto file = find_agent();
  if (!file) return file;
  if (const auto loaded = try_agent(*file); !loaded) {
    return base::fail("the loader refuses it: {}", loaded.error().message);
  }
  return file;
}

Trials make_trials() {
  std::error_code ignored;
  const auto memory = log::LogMemory::create({});
  return {.agent = try_own_agent(),
          .cpu = launch::check_own_cpu(),
          .own_needs = launch::check_own_needs(),
          .log_memory = memory ? base::Result<>() : std::unexpected(memory.error()),
          .tracing = try_tracing(),
          .output = check_output({}),
          .clock = log::judge_clock(log::read_clock_facts()),
          .own_path = std::filesystem::read_symlink("/proc/self/exe", ignored).string()};
}

}  // namespace

int perform(const DoctorOptions& options) {
  const MachineFacts facts = read_machine_facts();
  TargetChecks target{.checks = {}, .need = Need::kAnything};
  std::string subject = options.target;
  // A file with this name needs a directory in front of it.
  if (const auto process = pid_in(options.target)) {
    target = check_target_process(facts, *process);
    subject = "process " + options.target;
  } else if (!options.target.empty()) {
    target = check_program(facts, options.target);
  }
  std::vector<CheckGroup> groups{{"this machine", check_machine(facts, make_trials(), target.need)}};
  if (!options.target.empty()) groups.push_back({subject, std::move(target.checks)});
  const auto printed = print_output(options.json ? render_checks_json(groups) : render_checks(groups));
  if (!printed) {
    print_error(fmt::format("heaptap: {}\n", printed.error().message));
    return base::exit_status_of(printed.error().kind);
  }
  return has_failed(groups) ? kExitPrevented : 0;
}

}  // namespace heaptap::app
