// Why a process can't be traced: all causes, and their order.
#include "capture/process/ptrace_refusal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace heaptap::process {
namespace {

struct Case {
  RefusalFacts facts;
  std::string text;
};

TEST(PtraceRefusal, NamesCauseAndCure) {
  const std::vector<Case> cases{
      {{.reason = EPERM, .tracer = 7, .tracer_name = "gdb", .is_root = true, .scope = 1},
       "process 7 (gdb) traces it already, and a process can have one tracer only: end that one first"},
      {{.reason = ESRCH, .is_root = true}, "No such process"},
      {{.reason = EPERM, .owner = "redis", .user = "me", .scope = 1},
       "it belongs to redis, and you are me: run heaptap with sudo"},
      {{.reason = EPERM, .is_root = true, .scope = 3},
       "kernel.yama.ptrace_scope is 3, which forbids tracing until the next boot: set another value in /etc/sysctl.d "
       "and reboot"},
      {{.reason = EPERM, .scope = 2}, "kernel.yama.ptrace_scope is 2, so only root may: run heaptap with sudo"},
      {{.reason = EACCES, .scope = 1},
       "kernel.yama.ptrace_scope is 1, so only its ancestors and root may: run heaptap with "
       "sudo, or allow it: sudo sysctl kernel.yama.ptrace_scope=0"},
      {{.reason = EPERM, .scope = 0},
       "it has privileges that heaptap doesn't have (set-user-ID, capabilities): run heaptap with sudo"},
  };
  for (const Case& each : cases) EXPECT_EQ(refusal_of(each.facts).message, each.text);
}

TEST(PtraceRefusal, NeverTellsRootToBecomeRoot) {
  for (const std::optional<int> scope : {std::optional<int>(), std::optional(0), std::optional(1), std::optional(2)}) {
    const std::string text = refusal_of({.reason = EPERM, .owner = "redis", .is_root = true, .scope = scope}).message;
    EXPECT_EQ(text.find("run heaptap with sudo"), std::string::npos) << text;
    EXPECT_NE(text.find("SYS_PTRACE"), std::string::npos) << text;
  }
}

TEST(PtraceRefusal, NamesTheProcess) {
  const std::string text = ptrace_refusal(getpid(), getpid(), EINVAL).message;
  EXPECT_TRUE(text.starts_with("can't trace process " + std::to_string(getpid()) + " (unit_process): ")) << text;
}

}  // namespace
}  // namespace heaptap::process
