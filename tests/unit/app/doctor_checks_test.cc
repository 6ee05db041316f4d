#include "apps/heaptap/doctor/doctor_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "apps/heaptap/doctor/doctor_text.h"

namespace heaptap::app {
namespace {

Trials good() {
  return {.agent = std::string("/opt/heaptap/lib/heaptap/libheaptap_agent.so"),
          .cpu = {},
          .own_needs = {},
          .log_memory = {},
          .tracing = {},
          .output = {},
          .clock = {},
          .own_path = "/opt/heaptap/bin/heaptap"};
}

MachineFacts debian() {
  MachineFacts facts;
  facts.has_sudo = true;
  facts.package_tool = "apt-get";
  facts.has_libc_debug = true;
  facts.debuginfod_servers = "https://example.org";
  facts.free_bytes = uint64_t{10} << 30;
  return facts;
}

Check check_of(const MachineFacts& facts, const Trials& trials, Need need, const std::string& name) {
  const std::vector<Check> checks = check_machine(facts, trials, need);
  const auto found = std::ranges::find(checks, name, &Check::name);
  if (found != checks.end()) return *found;
  ADD_FAILURE() << "no check " << name;
  return {};
}

using Fixes = std::vector<std::string>;

TEST(DoctorChecks, AStaticHeaptapAsksServersByAProgram) {
  MachineFacts facts = debian();
  facts.loads_libraries = false;
  const Check check = check_of(facts, good(), Need::kAnything, "debuginfod");
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_NE(check.text.find("static program"), std::string::npos);
  EXPECT_NE(check.fixes, Fixes());
  facts.has_debuginfod_find = true;
  EXPECT_EQ(check_of(facts, good(), Need::kAnything, "debuginfod").verdict, Verdict::kOk);
}

TEST(DoctorChecks, AreAllWellWhereNothingIsMissing) {
  for (const Need need : {Need::kAnything, Need::kAgent, Need::kTracer, Need::kAttach}) {
    for (const Check& check : check_machine(debian(), good(), need)) {
      EXPECT_EQ(check.verdict, Verdict::kOk) << check.name << ": " << check.text;
      EXPECT_TRUE(check.fixes.empty()) << check.name;
    }
  }
}

TEST(DoctorChecks, JudgePtraceByScopePrivilegesAndNeed) {
  struct Case {
    int scope;
    bool may_trace_all;
    bool works;
    Need need;
    Verdict verdict;
    Fixes fixes;
  };
  const std::string allow = "sudo sysctl kernel.yama.ptrace_scope=0";
  const std::string restrict = "sudo sysctl kernel.yama.ptrace_scope=1";
  const Fixes restart{"sudo sh -c 'echo kernel.yama.ptrace_scope=1 >/etc/sysctl.d/10-ptrace.conf'", "sudo reboot"};
  const Case cases[] = {
      {0, false, true, Need::kAnything, Verdict::kOk, {}},
      {1, true, true, Need::kAnything, Verdict::kOk, {}},
      {1, false, true, Need::kAnything, Verdict::kNote, {allow}},
      {1, false, true, Need::kAttach, Verdict::kNote, {allow}},
      {1, false, true, Need::kTracer, Verdict::kOk, {}},
      {1, false, true, Need::kAgent, Verdict::kOk, {}},
      {2, true, true, Need::kAnything, Verdict::kOk, {}},
      {2, false, false, Need::kAnything, Verdict::kFail, {restrict}},
      {2, false, false, Need::kTracer, Verdict::kFail, {restrict}},
      {2, false, false, Need::kAgent, Verdict::kNote, {restrict}},
      {2, false, false, Need::kAttach, Verdict::kNote, {restrict}},
      {3, true, false, Need::kAnything, Verdict::kFail, restart},
      {3, false, false, Need::kAgent, Verdict::kNote, restart},
      {0, false, false, Need::kTracer, Verdict::kFail, {}},
  };
  for (const Case& one : cases) {
    MachineFacts facts = debian();
    facts.ptrace_scope = one.scope;
    facts.may_trace_all = one.may_trace_all;
    Trials trials = good();
    if (!one.works) trials.tracing = base::fail("Operation not permitted");
    const Check check = check_of(facts, trials, one.need, "ptrace");
    const std::string shown = fmt::format("scope {}, need {}", one.scope, static_cast<int>(one.need));
    EXPECT_EQ(check.verdict, one.verdict) << shown;
    EXPECT_EQ(check.fixes, one.fixes) << shown;
  }
}

TEST(DoctorChecks, NamesTheCapabilityThatAContainersRootLacks) {
  MachineFacts facts = debian();
  facts.is_root = true;
  Trials trials = good();
  trials.tracing = base::fail("Operation not permitted");
  EXPECT_EQ(check_of(facts, trials, Need::kTracer, "ptrace").fixes, Fixes{"docker run --cap-add=SYS_PTRACE ..."});
}

TEST(DoctorChecks, WritesCommandsAsTheUserCanRunThem) {
  MachineFacts facts = debian();
  EXPECT_EQ(as_root(facts, "sh -c 'id'"), "sudo sh -c 'id'");
  facts.has_sudo = false;
  EXPECT_EQ(as_root(facts, "sh -c 'id'"), R"(su -c 'sh -c '\''id'\''')");
  facts.is_root = true;
  EXPECT_EQ(as_root(facts, "sh -c 'id'"), "sh -c 'id'");
}

TEST(DoctorChecks, NamesOnlyPackageToolsThatAreHere) {
  const std::pair<const char*, Fixes> cases[] = {
      {"apt-get", {"sudo apt-get install libc6-dbg"}},
      {"dnf", {"sudo dnf debuginfo-install glibc"}},
      {"zypper", {"sudo zypper install glibc-debuginfo"}},
      {"pacman", {}},
      {"", {}},
  };
  for (const auto& [tool, fixes] : cases) {
    MachineFacts facts = debian();
    facts.package_tool = tool;
    facts.has_libc_debug = false;
    const Check check = check_of(facts, good(), Need::kAnything, "libc names");
    EXPECT_EQ(check.verdict, Verdict::kNote) << tool;
    EXPECT_EQ(check.fixes, fixes) << tool;
  }
}

TEST(DoctorChecks, FailForAnAgentOnlyWhereItIsNeeded) {
  Trials trials = good();
  trials.agent = base::fail("not there");
  EXPECT_EQ(check_of(debian(), trials, Need::kAnything, "agent").verdict, Verdict::kFail);
  EXPECT_EQ(check_of(debian(), trials, Need::kAgent, "agent").verdict, Verdict::kFail);
  EXPECT_EQ(check_of(debian(), trials, Need::kTracer, "agent").verdict, Verdict::kNote);
  EXPECT_EQ(check_of(debian(), trials, Need::kAttach, "agent").verdict, Verdict::kNote);
  EXPECT_EQ(check_of(debian(), trials, Need::kAgent, "agent").fixes, Fixes{"./dev install --prefix /opt/heaptap"});
  trials.own_path = "/src/heaptap/build/bin/heaptap";
  EXPECT_EQ(check_of(debian(), trials, Need::kAgent, "agent").fixes, Fixes{"./dev build"});
}

TEST(DoctorChecks, JudgeTheDisk) {
  MachineFacts facts = debian();
  facts.free_bytes = 0;
  EXPECT_EQ(check_of(facts, good(), Need::kAgent, "disk").verdict, Verdict::kFail);
  facts.free_bytes = 1 << 20;
  EXPECT_EQ(check_of(facts, good(), Need::kAgent, "disk").verdict, Verdict::kNote);
  facts.free_bytes.reset();
  EXPECT_EQ(check_of(facts, good(), Need::kAgent, "disk").verdict, Verdict::kNote);
  Trials trials = good();
  trials.output = base::fail("no");
  EXPECT_EQ(check_of(debian(), trials, Need::kAgent, "disk").verdict, Verdict::kFail);
}

TEST(DoctorChecks, TellOfLimitsFiltersAndClocks) {
  MachineFacts facts = debian();
  facts.no_new_privileges = facts.has_filter = true;
  facts.space_bytes = uint64_t{1} << 30;
  facts.open_files = 20;
  Trials trials = good();
  trials.clock = {log::ClockDoubt::kNotUsed, "hpet"};
  for (const char* name : {"privileges", "seccomp", "limits", "clock"}) {
    EXPECT_EQ(check_of(facts, trials, Need::kAnything, name).verdict, Verdict::kNote) << name;
  }
  EXPECT_NE(check_of(facts, trials, Need::kAnything, "clock").text.find("hpet"), std::string::npos);
  trials.own_needs = base::fail("/proc isn't there");
  EXPECT_EQ(check_of(facts, trials, Need::kAnything, "memory").verdict, Verdict::kFail);
}

TEST(DoctorText, IsALineACheckInEightyColumnsWithCommandsBelow) {
  const std::vector<CheckGroup> groups{
      {"this machine",
       {{"agent", Verdict::kOk, "/usr/lib/heaptap/libheaptap_agent.so"},
        {"ptrace",
         Verdict::kNote,
         "kernel.yama.ptrace_scope is 1: only for what heaptap starts; attaching needs root",
         {"sudo sysctl kernel.yama.ptrace_scope=0"}}}},
      {"./a\033b", {{"program", Verdict::kFail, "no\tsuch program"}}}};
  EXPECT_TRUE(has_failed(groups));
  EXPECT_EQ(render_checks(groups),
            "this machine\n"
            "ok    agent       /usr/lib/heaptap/libheaptap_agent.so\n"
            "note  ptrace      kernel.yama.ptrace_scope is 1: only for what heaptap starts;\n"
            "                  attaching needs root\n"
            "                    sudo sysctl kernel.yama.ptrace_scope=0\n"
            "\n"
            "./a\\x1bb\n"
            "FAIL  program     no\\x09such program\n"
            "\n"
            "What is marked FAIL prevents recording.\n");
}

TEST(DoctorText, IsJsonWithInvalidUtf8MadeValid) {
  const std::string text = render_checks_json({{"./a\xff", {{"agent", Verdict::kNote, "x", {"y"}}}}});
  EXPECT_NE(text.find("\"subject\": \"./a\xef\xbf\xbd\""), std::string::npos) << text;
  EXPECT_NE(text.find(R"("verdict": "note")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("passed": true)"), std::string::npos) << text;
}

}  // namespace
}  // namespace heaptap::app
