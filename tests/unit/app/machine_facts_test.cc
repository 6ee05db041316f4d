#include "apps/heaptap/doctor/machine_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

// A root directory with the files that are read, made up.
class MachineFactsTest : public testing::Test {
 protected:
  MachineFactsTest() {
    std::string pattern = (fs::temp_directory_path() / "heaptap-facts-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~MachineFactsTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text, fs::perms mode = fs::perms::owner_read) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    fs::permissions(root_ / path, mode);
  }
  [[nodiscard]] MachineFacts read() const { return read_machine_facts(root_.string()); }

  fs::path root_;
};

TEST_F(MachineFactsTest, ReadsPrivileges) {
  write("proc/sys/kernel/yama/ptrace_scope", "2\n");
  write("proc/self/status", "Name:\tx\nCapEff:\t0000000000080000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  const MachineFacts facts = read();
  EXPECT_EQ(facts.ptrace_scope, 2);
  EXPECT_TRUE(facts.may_trace_all);
  EXPECT_TRUE(facts.no_new_privileges);
  EXPECT_TRUE(facts.has_filter);
}

TEST_F(MachineFactsTest, TakesWhatIsNotThereForNotThere) {
  write("proc/self/status", "CapEff:\tfffffffffff7ffff\nNoNewPrivs:\t0\nSeccomp:\t0\n");
  const MachineFacts facts = read();
  EXPECT_EQ(facts.ptrace_scope, std::nullopt);
  EXPECT_FALSE(facts.may_trace_all);
  EXPECT_FALSE(facts.no_new_privileges);
  EXPECT_FALSE(facts.has_filter);
  EXPECT_FALSE(facts.has_sudo);
  EXPECT_FALSE(facts.has_libc_debug);
  EXPECT_EQ(facts.package_tool, "");
}

TEST_F(MachineFactsTest, FindsTheCommandsOfTheSystem) {
  write("usr/bin/sudo", "", fs::perms::owner_all);
  write("usr/bin/pacman", "", fs::perms::owner_all);
  write("usr/bin/dnf", "", fs::perms::owner_read);  // nobody can execute it
  EXPECT_TRUE(read().has_sudo);
  EXPECT_EQ(read().package_tool, "pacman");
}

TEST(MachineTrials, SayWhyTheLoaderRefusesAnAgent) {
  const auto refused = try_agent("/proc/self/status");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("/proc/self/status"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(try_agent("libc.so.6").has_value());
}

TEST(MachineTrials, TraceAChild) { EXPECT_TRUE(try_tracing().has_value()); }

}  // namespace
}  // namespace heaptap::app
