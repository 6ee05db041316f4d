#include "capture/inject/injection_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

namespace heaptap::inject {
namespace {

using testing::HasSubstr;

struct Case {
  const char* name;
  const char* said;
  std::function<void(InjectionFacts&)> change;
};

class Refusal : public testing::TestWithParam<Case> {};

TEST_P(Refusal, NamesTheConditionThatIsNotMet) {
  InjectionFacts facts;
  ASSERT_TRUE(check_injection(facts));
  GetParam().change(facts);
  const auto checked = check_injection(facts);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    All, Refusal,
    testing::Values(Case{"cpu", "x86-64", [](auto& facts) { facts.is_this_cpu = false; }},
                    Case{"tracer", "process 42 traces", [](auto& facts) { facts.tracer = 42; }},
                    Case{"stopped", "SIGSTOP", [](auto& facts) { facts.is_stopped = true; }},
                    Case{"filter", "seccomp", [](auto& facts) { facts.is_filtered = true; }},
                    Case{"shadow_stack", "shadow stack", [](auto& facts) { facts.has_shadow_stack = true; }},
                    Case{"trap", "SIGTRAP", [](auto& facts) { facts.uses_trap_signal = true; }},
                    Case{"locked", "locks its memory", [](auto& facts) { facts.locks_memory = true; }},
                    Case{"namespaces", "namespaces", [](auto& facts) { facts.is_elsewhere = true; }},
                    Case{"shared", "shares its memory", [](auto& facts) { facts.shares_memory = true; }},
                    Case{"agent", "already", [](auto& facts) { facts.has_agent = true; }},
                    Case{"go", "Go program", [](auto& facts) { facts.is_go = true; }},
                    Case{"speaks", "heaptap.h", [](auto& facts) { facts.speaks = true; }},
                    Case{"static_program", "static", [](auto& facts) { facts.is_static = true; }},
                    Case{"musl", "isn't glibc", [](auto& facts) { facts.is_glibc = false; }},
                    Case{"none", "none of its objects", [](auto& facts) { facts.allocators = 0; }}),
    [](const auto& test) { return test.param.name; });

TEST(InjectionFacts, AreThoseOfThisProcess) {
  const InjectionFacts facts = read_injection_facts(getpid(), getpid());
  EXPECT_FALSE(facts.is_stopped);
  EXPECT_FALSE(facts.is_elsewhere);
  EXPECT_FALSE(facts.shares_memory);
  EXPECT_FALSE(facts.has_agent);
  EXPECT_FALSE(facts.uses_trap_signal);
}

}  // namespace
}  // namespace heaptap::inject
