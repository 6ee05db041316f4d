/* A listener of GoogleTest that fails each test that leaks, while the program runs under heaptap (`heaptap run ./tests`).
 * Without heaptap it does nothing: a load, a test and a branch for each test. C++11, GoogleTest 1.10 and later.
 *
 *   #include <heaptap/gtest.h>
 *   static const bool leaks_fail_tests = heaptap::append_leak_listener();  // with gtest_main; or in main(), before RUN_ALL_TESTS()
 *
 * In one source file of the program. It needs what heaptap/heaptap.h needs: the header alone, or libheaptap in static programs and in those
 * that are recorded by ptrace.
 *
 * There is a leak scan before each test's fixture is made, and one after it has gone. What is definitely lost after it and wasn't
 * before is the test's leak. A test fails as well where that can't be known, and says why. What SetUpTestSuite and environments lose
 * belongs to no test, and a pointer that was left anywhere in memory may hide a lost block for some time: let
 * `heaptap run --error-exitcode N` judge the whole run too. Each scan stops all threads while memory is read: some
 * milliseconds, and about a second for 5 GB. */
#ifndef HEAPTAP_GTEST_H
#define HEAPTAP_GTEST_H

#include <gtest/gtest.h>
#include <heaptap/heaptap.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace heaptap {

class leak_listener : public testing::EmptyTestEventListener {
 public:
  void OnTestIterationStart(const testing::UnitTest& /*unit_test_*/, int iteration_) override {
    iteration = iteration_;
  }

  void OnTestStart(const testing::TestInfo& test_) override {
    is_watching = is_recording();
    if (!is_watching) return;
    status = scan(before);
    mark(name_of(test_).c_str());
  }

  void OnTestEnd(const testing::TestInfo& test_) override {
    if (!is_watching) return;
    is_watching = false;
    const std::string name = name_of(test_);
    mark(("end of " + name).c_str());
    heaptap_scan_counts after;
    const bool is_still_recording = is_recording();
    const int after_status = scan(after);
    if (status == 0) status = after_status;
    if (status == ENOTSUP) {
      ADD_FAILURE() << "It isn't known whether this test leaks: heaptap records no blocks here (--aggregate)";
    } else if (status != 0) {
      ADD_FAILURE() << "It isn't known whether this test leaks: heaptap's leak scan failed: " << std::strerror(status);
    } else if (after.reachable_blocks == 0) { /* GoogleTest's own are */
      ADD_FAILURE() << "It isn't known whether this test leaks: heaptap knows none of the program's blocks";
    } else if (after.definite_blocks > before.definite_blocks) {
      tell_leak(name, after);
    } else if (!is_still_recording) {
      ADD_FAILURE() << "It isn't known whether this test leaks: it ended with heaptap's recording switched off";
    } else if (after.unknown_blocks > before.unknown_blocks) {
      ADD_FAILURE() << "It isn't known whether this test leaks: of "
                    << amount(after.unknown_blocks - before.unknown_blocks, "block", "blocks")
                    << " heaptap doesn't know whether they are live";
    }
  }

 private:
  static std::string amount(uint64_t count_, const char* one_, const char* many_) {
    return std::to_string(count_) + " " + (count_ == 1 ? one_ : many_);
  }

  /* Of the test's mark. Longer marks than 248 bytes are cut. */
  std::string name_of(const testing::TestInfo& test_) const {
    std::string name = test_.test_suite_name() + std::string(".") + test_.name();
    if (name.size() > 200) name.resize(200);
    if (iteration > 0) name += ", round " + std::to_string(iteration + 1);
    return name;
  }

  void tell_leak(const std::string& name_, const heaptap_scan_counts& after_) const {
    const uint64_t blocks = after_.definite_blocks - before.definite_blocks;
    std::string text = "heaptap: " + amount(blocks, "block is", "blocks are") + " definitely lost";
    if (after_.definite_bytes > before.definite_bytes) {
      text += " (" + amount(after_.definite_bytes - before.definite_bytes, "byte", "bytes") + ")";
    }
    if (after_.indirect_blocks > before.indirect_blocks) {
      text += ", " + amount(after_.indirect_blocks - before.indirect_blocks, "block", "blocks") + " indirectly";
    }
    ADD_FAILURE() << text << ". Stacks of those that were allocated in the test, once the program has ended:\n"
                  << "  heaptap show leaks --from '" << name_ << "' --to 'end of " << name_ << "' TRACE";
  }

  heaptap_scan_counts before = HEAPTAP_SCAN_COUNTS;
  int iteration = 0;
  int status = 0;
  bool is_watching = false;
};

/* Appends the listener to those of the program, once, however often it is called. true, for who initialises a variable with it. */
inline bool append_leak_listener() {
  static const bool is_appended = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new leak_listener); /* the listeners own it */
    return true;
  }();
  return is_appended;
}

} /* namespace heaptap */

#endif /* HEAPTAP_GTEST_H */
