// Tests that leak and tests that don't, with the listener of include/heaptap/gtest.h. Run by gtest_test.py.
#include <heaptap/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

static const bool leaks_fail_tests = heaptap::append_leak_listener() && heaptap::append_leak_listener();

namespace {

std::vector<int> kept;
void* volatile mislaid = nullptr;

__attribute__((noinline)) void lose(size_t size_bytes) {
  auto* volatile block = static_cast<char*>(std::malloc(size_bytes));
  block[0] = 1;
  block = nullptr;
}

struct Node {
  Node* volatile next;
};

__attribute__((noinline)) void lose_list() {
  Node* volatile first = new Node{nullptr};
  first->next = new Node{nullptr};
  first = nullptr;
}

class Suite : public testing::Test {
 protected:
  static void SetUpTestSuite() { lose(77); }
  ~Suite() override { EXPECT_EQ(numbers.size(), 100U); }
  std::vector<int> numbers = std::vector<int>(100);
};

TEST(Clean, ReleasesAll) { EXPECT_EQ(std::vector<int>(100).size(), 100U); }
TEST(Clean, KeepsInAGlobal) { kept.assign(1000, 1); }
TEST(Clean, OfAThread) {
  std::thread([] { EXPECT_EQ(std::vector<int>(10).size(), 10U); }).join();
}
TEST_F(Suite, IsClean) { EXPECT_EQ(numbers.size(), 100U); }
TEST(Leaks, OneBlock) { lose(30); }
TEST(Leaks, AList) { lose_list(); }
TEST(Leaks, OfAThread) {
  std::thread([] { lose(40); }).join();
}
TEST(Mislays, Takes) { mislaid = std::malloc(50); }
TEST(Mislays, Loses) { mislaid = nullptr; }
TEST(Fails, AsEver) { EXPECT_EQ(kept.size(), 1U); }
TEST(Off, IsUnknown) { heaptap::disable(); }
TEST(Off, On) { heaptap::enable(); }

}  // namespace
