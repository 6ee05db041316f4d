#include "capture/inject/injection_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>

#include "capture/inject/registers.h"
#include "capture/log/log_memory.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/tracer/trap_signal.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"
#include "common/wire/handshake.h"

namespace heaptap::inject {
namespace {

bool is_same_namespace(pid_t process, const std::string& kind) {
  struct stat own{};
  struct stat other{};
  return stat(("/proc/self/ns/" + kind).c_str(), &own) == 0 &&
         stat(base::process_file(process, "ns/" + kind).c_str(), &other) == 0 && own.st_ino == other.st_ino &&
         own.st_dev == other.st_dev;
}

// By filters, or to the few calls of the strict mode; as its status says.
bool says_filtered(const std::string& status) { return base::status_number(status, "Seccomp").value_or(1) != 0; }

// Empty: the thread has ended.
std::string read_status(pid_t thread) { return base::read_small_file(base::process_file(thread, "status"), 8192); }

// With a child of its, as far as the kernel tells (kcmp).
void read_thread(pid_t thread, InjectionFacts& facts) {
  const std::string status = read_status(thread);
  if (status.empty()) return;
  facts.is_filtered |= says_filtered(status);
  facts.has_shadow_stack |= base::status_field(status, "x86_Thread_features").find("shstk") != std::string_view::npos;
  facts.locks_memory |= base::status_number(status, "VmLck").value_or(0) != 0;
  const uint64_t used =
      base::status_number(status, "SigIgn", 16).value_or(0) | base::status_number(status, "SigCgt", 16).value_or(0);
  facts.uses_trap_signal |= (used & tracer::signal_bit(SIGTRAP)) != 0;
  if (const auto thread_status = process::read_thread_status(thread)) {
    facts.is_stopped |= thread_status->state == 'T';
    if (thread_status->tracer != 0) facts.tracer = thread_status->tracer;
  }
}

}  // namespace

InjectionFacts read_injection_facts(pid_t process, pid_t live_thread) {
  InjectionFacts facts{.is_this_cpu = kCanInject};
  for (const pid_t thread : process::list_threads(process)) read_thread(thread, facts);
  for (const char* kind : {"user", "pid", "mnt"}) facts.is_elsewhere |= !is_same_namespace(live_thread, kind);
  facts.shares_memory = !list_sharing_children(process).empty();
  for (const process::Mapping& mapping : process::read_memory_map(live_thread)) {
    facts.has_agent |= mapping.name.find(wire::kAgentFileName) != std::string::npos ||
                       mapping.name.find(log::kLogName) != std::string::npos;
  }
  return facts;
}

std::vector<pid_t> list_sharing_children(pid_t process) {
  std::vector<pid_t> found;
  for (const pid_t thread : process::list_threads(process)) {
    for (const pid_t child : process::list_children(process, thread)) {
      if (process::share_memory(process, child).value_or(false)) found.push_back(child);
    }
  }
  return found;
}

bool is_thread_filtered(pid_t thread) {
  const std::string status = read_status(thread);
  return !status.empty() && says_filtered(status);
}

bool is_filtered(pid_t process) { return std::ranges::any_of(process::list_threads(process), is_thread_filtered); }

base::Result<> check_injection(const InjectionFacts& facts) {
  using base::fail;
  if (!facts.is_this_cpu) return fail("it isn't a 64-bit program for x86-64");
  if (facts.tracer != 0) return fail("process {} traces it already", facts.tracer);
  if (facts.has_agent) return fail("it has heaptap's agent in it already");
  if (facts.is_stopped) return fail("it is stopped (SIGSTOP)");
  if (facts.is_filtered) return fail("it restricts its system calls (seccomp)");
  if (facts.has_shadow_stack) return fail("it runs with a shadow stack");
  if (facts.uses_trap_signal) return fail("it uses the signal SIGTRAP");
  if (facts.locks_memory) return fail("it locks its memory, and would lock the agent's");
  if (facts.is_elsewhere) return fail("it runs in other namespaces (a container)");
  if (facts.shares_memory) return fail("it shares its memory with another process");
  if (facts.is_go) return fail("it is a Go program");
  if (facts.is_static) return fail("it is a static program, or one of 32 bits");
  if (!facts.is_glibc) return fail("its C library isn't glibc");
  if (facts.speaks) return fail("it speaks to heaptap by heaptap.h");
  if (facts.allocators == 0) return fail("none of its objects defines malloc");
  return {};
}

}  // namespace heaptap::inject
