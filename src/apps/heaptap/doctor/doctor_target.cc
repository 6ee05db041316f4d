#include "apps/heaptap/doctor/doctor_target.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

#include "apps/heaptap/commands/agent_file.h"
#include "apps/heaptap/commands/run_plan.h"
#include "apps/heaptap/doctor/program_facts.h"
#include "capture/inject/injection_check.h"
#include "capture/inject/injector.h"
#include "capture/launch/process_check.h"
#include "capture/launch/program_check.h"
#include "capture/launch/sanitizer_check.h"
#include "common/base/process_file.h"
#include "common/base/safe_text.h"
#include "common/base/shell_word.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

std::string libc_of(const ProgramFacts& program) {
  if (program.loader.empty()) return "statically linked";
  const std::string loader = fs::path(program.loader).filename().string();
  return loader.starts_with("ld-linux") ? "glibc" : loader.starts_with("ld-musl") ? "musl" : "loader " + loader;
}

void add_names(const MachineFacts& facts, const ProgramFacts& program, const std::string& file,
               std::vector<Check>& checks) {
  if (program.has_lines) {
    checks.push_back({"names", Verdict::kOk, "it has debug information"});
    return;
  }
  Check check{"names", Verdict::kNote,
              program.has_symbols
                  ? "no debug information: functions, but no lines; compile with -g"
                  : "stripped: only exported functions have names; compile with -g, or use --symbols DIR"};
  const bool is_of_package = file.starts_with("/usr/") && !file.starts_with("/usr/local/");
  if (is_of_package && facts.package_tool == "dnf") {
    check.fixes = {as_root(facts, "dnf debuginfo-install " + base::shell_word(file))};
  } else if (is_of_package && !facts.debuginfod_servers.empty()) {
    check.text += "; the servers of DEBUGINFOD_URLS are asked for the rest";
  }
  checks.push_back(std::move(check));
}

// Kind of the executable, and memory of it that can't be seen.
void add_kind(const ProgramFacts& program, std::vector<Check>& checks) {
  checks.push_back({"program", Verdict::kOk, fmt::format("{} bits, {}", program.word_bytes * 8, libc_of(program))});
  if (program.is_go) {
    checks.push_back({"go", Verdict::kNote,
                      "a Go program: the Go runtime doesn't use malloc; only what C code in it allocates is recorded"});
  }
}

// Returns the variables that its environment needs; empty: none.
std::string add_sanitizer(const std::string& file, const std::string& shown, std::vector<Check>& checks) {
  const launch::Environment environment = launch::own_environment({});
  const auto sanitizer = launch::find_sanitizer(file, environment);
  if (!sanitizer) return {};
  std::string needed = launch::leak_check_switch(*sanitizer, environment);
  if (needed.empty()) {
    checks.push_back({"sanitizer", Verdict::kOk, std::string(sanitizer->name) + ", without a leak check of its own"});
  } else {
    checks.push_back({"sanitizer",
                      Verdict::kFail,
                      std::string(sanitizer->name) + ": its leak check can't work in a program that is traced",
                      {fmt::format("heaptap run -E '{}' -- {}", needed, shown)}});
  }
  return needed;
}

Check capture_check(const RunPlan& plan, const std::optional<ProgramFacts>& program, const std::string& shown) {
  if (plan.by_tracer) return {"capture", Verdict::kNote, "ptrace, which is slower than the agent: " + plan.why};
  if (program && program->defines_allocator) {
    return {"capture",
            Verdict::kNote,
            "the program has a malloc of its own, which the agent can't see",
            {"heaptap run --via ptrace -- " + shown}};
  }
  return {"capture", Verdict::kOk, "by the agent"};
}

}  // namespace

TargetChecks check_program(const MachineFacts& facts, const std::string& name) {
  TargetChecks target;
  const auto found = launch::find_program(name);
  if (!found) {
    target.checks.push_back({"program", Verdict::kFail, found.error().message});
    return target;
  }
  const std::string shown = base::shell_word(name);
  std::error_code ignored;
  const std::string file = fs::canonical(found->file, ignored).string();
  const auto program = read_program_facts(file);
  if (program) add_kind(*program, target.checks);
  RunOptions run;
  run.command = {name};
  if (const std::string needed = add_sanitizer(file, shown, target.checks); !needed.empty()) {
    run.environment = {needed};
  }
  if (const auto plan = make_plan(run); plan) {
    target.checks.push_back(capture_check(*plan, program, shown));
    target.need = plan->by_tracer ? Need::kTracer : Need::kAgent;
  } else {
    target.checks.push_back({"capture", Verdict::kFail, plan.error().message});
  }
  if (program) add_names(facts, *program, file, target.checks);
  return target;
}

namespace {

// How `heaptap attach` records it.
std::string way_into(pid_t process) {
  if (!inject::kCanInject) return "by ptrace";
  const auto agent = find_injected_agent();
  const auto allowed = agent ? inject::check_injectable(process, *agent) : std::unexpected(agent.error());
  return allowed ? "by the agent" : "by ptrace: " + allowed.error().message;
}

}  // namespace

TargetChecks check_target_process(const MachineFacts& facts, pid_t process) {
  TargetChecks target{.checks = {}, .need = Need::kAttach};
  const std::string link = base::process_file(process, "exe");
  const auto program = read_program_facts(link);
  std::error_code ignored;
  const std::string file = fs::read_symlink(link, ignored).string();
  if (program) add_kind(*program, target.checks);
  if (const auto allowed = launch::check_processes({process}); allowed) {
    target.checks.push_back(
        {"attach", Verdict::kOk, fmt::format("process {} can be attached to, {}", process, way_into(process))});
  } else {
    Check check{"attach", Verdict::kFail, allowed.error().message};
    // Things that only root may do.
    const bool is_refused =
        access(base::process_file(process, "stat").c_str(), R_OK) == 0 && access(link.c_str(), R_OK) != 0;
    if (is_refused && !facts.is_root) check.fixes = {as_root(facts, fmt::format("heaptap attach {}", process))};
    target.checks.push_back(std::move(check));
  }
  if (program) add_names(facts, *program, file, target.checks);
  return target;
}

}  // namespace heaptap::app
