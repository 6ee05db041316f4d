#include "apps/heaptap/commands/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "apps/heaptap/commands/output_check.h"
#include "capture/inject/injection_check.h"
#include "capture/launch/own_needs.h"
#include "capture/launch/process_check.h"
#include "capture/launch/sanitizer_check.h"
#include "capture/log/log_memory.h"

namespace heaptap::app {
namespace {

using base::ErrorKind;
using base::fail_as;

base::Result<> check_options(const RunOptions& options) {
  if (options.sample_interval > wire::kMaxSampleInterval) {
    return fail_as(ErrorKind::kUsage, "--sample: at most 1T");
  }
  if (options.sample_interval != 0 && options.aggregate) {
    return fail_as(ErrorKind::kUsage, "--sample: --aggregate counts all blocks; leave out one of them");
  }
  if (options.aggregate && options.aggregate_memory_bytes < log::kLeastTotalsBytes) {
    return fail_as(ErrorKind::kUsage, "--aggregate-memory: at least 1M");
  }
  if (options.command.empty()) {
    const char* const of_program = !options.user.empty() ? "--user" : !options.environment.empty() ? "-E" : nullptr;
    if (of_program != nullptr) {
      return fail_as(ErrorKind::kUsage, "{} is for a program that heaptap starts; it has no effect on a running one",
                     of_program);
    }
  }
  return {};
}

bool is_chosen_here(const RunOptions& options) { return options.via.empty() || options.via == "auto"; }

// The option for what an agent that is put into a running process doesn't do yet. None: there is none.
std::optional<std::string_view> find_refused_option(const RunOptions& options) {
  struct Option {
    std::string_view name;
    bool is_given;
  };
  const std::array refused{Option{"--follow-fork", options.follow_fork},
                           Option{"--follow-exec", options.follow_exec},
                           Option{"--aggregate", options.aggregate},
                           Option{"--sample", options.sample_interval != 0},
                           Option{"--python", options.python},
                           Option{"--sanity", options.sanity},
                           Option{"--report-signal", options.report_signal != 0},
                           Option{"--omit", !options.omit.empty()}};
  const auto* const option = std::ranges::find_if(refused, &Option::is_given);
  return option == refused.end() ? std::nullopt : std::optional(option->name);
}

// Whether the agent may be tried to be put into what runs already.
base::Result<> check_injected(const RunOptions& options) {
  if (!inject::kCanInject || !options.command.empty())
    return base::fail("the agent can't be put into a process that runs already");
  if (find_refused_option(options)) return base::fail("the agent can't do that in a process that runs already");
  return {};
}

// Whether the agent is to be put into running processes: where it is asked for, or may be tried.
bool wants_injection(const RunOptions& options) {
  if (options.processes.empty() || !options.command.empty()) return false;
  return options.via == "agent" || (is_chosen_here(options) && check_injected(options));
}

// Whether the agent can record it.
base::Result<> check_agent(const RunOptions& options, const std::optional<launch::Program>& program) {
  if (!options.processes.empty()) return check_injected(options);
  if (program && !program->takes_agent) return base::fail("{} {}", program->path, program->takes_agent.error().message);
  if (options.duration_ns) {
    return base::fail("--duration detaches from a running program, and an agent can't be removed from it");
  }
  return {};
}

// A sanitizer's runtime and the agent can't both be the first library, and its leak check and heaptap can't both use
// ptrace.
base::Result<> check_sanitizer(const RunOptions& options, const launch::Sanitizer& sanitizer,
                               launch::Program& program) {
  if (program.takes_agent) {
    program.takes_agent = base::fail("runs {}, whose runtime must be loaded before any agent", sanitizer.name);
  }
  const std::string needed = launch::leak_check_switch(sanitizer, launch::own_environment(options.environment));
  if (options.via == "agent" || needed.empty()) return {};
  return fail_as(ErrorKind::kNotExecutable,
                 "can't record {}: it runs {}, whose leak check at the end can't work in a program that is traced (it "
                 "fails or never ends); switch it off: heaptap run -E '{}' -- ...; heaptap looks for leaks itself",
                 program.path, sanitizer.name, needed);
}

base::Result<> check_cpu() {
  base::Result<> can_record = launch::check_own_cpu();
  if (!can_record) can_record.error().message += "; traces from other machines can be read here: heaptap show FILE";
  return can_record;
}

// Option of which the agent does the work.
struct AgentOption {
  std::string_view name;
  bool is_given;
  std::string_view work;
  std::string_view link = ", and ";   // to why there is no agent
  std::string_view consequence = "";  // of having none
};

// `agent`: why there is none, unless ptrace was asked for.
base::Result<> check_without_agent(const RunOptions& options, const base::Result<>& agent) {
  const std::array agent_options{
      AgentOption{"--aggregate", options.aggregate, "the totals are kept by the agent"},
      AgentOption{"--sample", options.sample_interval != 0, "the agent chooses the samples", ", but ",
                  ", and by ptrace each call costs as much as a recorded one"},
      AgentOption{"--python", options.python, "Python's frames are read by the agent"},
  };
  const auto* const option = std::ranges::find_if(agent_options, &AgentOption::is_given);
  if (option == agent_options.end()) return {};
  const bool is_asked_for = options.via == "ptrace";
  return fail_as(ErrorKind::kUsage, "{}: {}{}{}; leave out {}{}", option->name, option->work,
                 is_asked_for ? "" : fmt::format("{}{}", option->link, agent.error().message), option->consequence,
                 is_asked_for ? "--via ptrace or " : "", option->name);
}

}  // namespace

base::Result<RunPlan> make_plan(const RunOptions& options) {
  HEAPTAP_TRY(check_options(options));
  HEAPTAP_TRY(check_cpu());
  RunPlan plan;
  if (!options.command.empty()) {
    auto program = launch::find_program(options.command.front());
    if (!program) return std::unexpected(std::move(program).error());
    plan.program = std::move(*program);
    const auto sanitizer = launch::find_sanitizer(plan.program->file, launch::own_environment(options.environment));
    if (sanitizer) HEAPTAP_TRY(check_sanitizer(options, *sanitizer, *plan.program));
  }
  plan.injects = wants_injection(options);
  plan.may_trace_instead = plan.injects && is_chosen_here(options);
  if (const auto refused = find_refused_option(options); plan.injects && refused) {
    return fail_as(ErrorKind::kUsage,
                   "{}: the agent can't do that in a process that runs already; leave out {} or --via agent", *refused,
                   *refused);
  }
  const base::Result<> agent = plan.injects ? base::Result<>() : check_agent(options, plan.program);
  plan.by_tracer = options.via == "ptrace" || (is_chosen_here(options) && !agent);
  if (options.via == "agent" && !agent) {
    const bool is_program = options.processes.empty() && !options.duration_ns;
    return fail_as(is_program ? ErrorKind::kNotExecutable : ErrorKind::kUsage,
                   "--via agent: {}; leave out --via agent, then ptrace is used", agent.error().message);
  }
  if (plan.by_tracer) HEAPTAP_TRY(check_without_agent(options, agent));
  if (plan.by_tracer && is_chosen_here(options)) {
    const auto option = options.processes.empty() ? std::nullopt : find_refused_option(options);
    plan.why = fmt::format("{}{}", option ? fmt::format("{}: ", *option) : "", agent.error().message);
  }
  HEAPTAP_TRY(launch::check_own_needs());
  HEAPTAP_TRY(check_output(options));
  HEAPTAP_TRY(launch::check_processes(options.processes));
  return plan;
}

}  // namespace heaptap::app
