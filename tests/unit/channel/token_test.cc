// Tokens: only what can't be guessed and what nobody else may read is taken.
#include "common/channel/token.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace heaptap::channel {
namespace {

// The bytes 0 to 31 and their check.
constexpr const char* kGood = "heaptap1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9jDc0p";

class File {
 public:
  explicit File(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static inline int g_count = 0;
  std::string path_ = std::filesystem::temp_directory_path() /
                      (std::string("heaptap-token-") + std::to_string(getpid()) + "-" + std::to_string(++g_count));
};

std::string error_of(const base::Result<Token>& token) { return token ? "" : token.error().message; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Token, GivesTheSameKeysEachTime) {
  const auto token = Token::from_text(kGood, "a test");
  const auto again = Token::from_text(std::string(" \n") + kGood + "\r\n", "a test");
  const auto other = Token::from_text(*Token::make_text(), "a test");
  ASSERT_TRUE(token && again && other) << error_of(token);
  EXPECT_EQ(token->listeners_key().secret(), again->listeners_key().secret());
  EXPECT_EQ(token->connectors_key().public_key(), again->connectors_key().public_key());
  EXPECT_NE(token->listeners_key().secret(), other->listeners_key().secret());
  EXPECT_NE(token->listeners_key().secret(), token->connectors_key().secret());
  // A change of these is a change of the protocol: both ends of a channel may be of different versions.
  EXPECT_EQ(Fingerprint::of(token->listeners_key().public_key()).to_text(),
            "SHA256:NzDQmRXLIb4r8Ap/HuD1gPof8hz953i0LW4kNqsrPIw");
  EXPECT_EQ(Fingerprint::of(token->connectors_key().public_key()).to_text(),
            "SHA256:ONewm47jZ/OV4rKLayPXOqA/moooPRPZvNFx+OM+YwQ");
}

TEST(Token, IsAnotherOneEachTime) { EXPECT_NE(*Token::make_text(), *Token::make_text()); }

TEST(Token, ThatSomebodyMadeUpIsRefused) {
  std::string changed = kGood;
  ++changed[20];
  for (const std::string& text :
       {std::string(), std::string("  \n "), std::string("short"), std::string("aaaabbbbccccddddeeee"),
        std::string("MxM2YQ3q1kTj0wYmY0c8Qk7mT0v5p3nA"), changed, std::string(kGood) + "A",
        std::string(kGood).substr(9), std::string(kGood).substr(0, 40), std::string(5'000, 'a')}) {
    const auto token = Token::from_text(text, "a test");
    EXPECT_TRUE(has(error_of(token), "not contain a complete token of `heaptap-target token`")) << text;
    EXPECT_TRUE(has(error_of(token), "heaptap-target token > FILE")) << text;
  }
}

TEST(Token, OfAFileThatOthersCanReadIsRefused) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U}) {
    const File file(kGood, mode);
    EXPECT_TRUE(has(error_of(Token::from_file(file.path())), "chmod 600")) << mode;
  }
  const File file(kGood);
  const auto token = Token::from_file(file.path());
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->listeners_key().secret(), Token::from_text(kGood, "a test")->listeners_key().secret());
}

TEST(Token, NeedsAFile) {
  EXPECT_TRUE(has(error_of(Token::from_file("/nonexistent/token")), "no token file '/nonexistent/token'"));
  EXPECT_TRUE(has(error_of(Token::from_file("/tmp")), "is not a regular file"));
  EXPECT_TRUE(has(error_of(Token::from_file("/dev/zero")), "is not a regular file"));
  const File empty("");
  EXPECT_TRUE(has(error_of(Token::from_file(empty.path())), "not contain a complete token of"));
  const File large(std::string(100'000, 'a') + "bcdefgh");
  EXPECT_FALSE(Token::from_file(large.path()).has_value());
}

TEST(Token, OfAFileOfAnotherUserIsRefused) {
  const File file(kGood);
  if (geteuid() != 0 || chown(file.path().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(has(error_of(Token::from_file(file.path())), "belongs to another user"));
}

TEST(Token, OfTheEnvironmentIsTakenOutOfIt) {
  unsetenv(Token::kVariable);
  EXPECT_FALSE(Token::from_environment()->has_value());
  setenv(Token::kVariable, kGood, 1);
  const auto token = Token::from_environment();
  ASSERT_TRUE(token.has_value());
  ASSERT_TRUE(token->has_value());
  EXPECT_EQ((*token)->listeners_key().secret(), Token::from_text(kGood, "a test")->listeners_key().secret());
  EXPECT_EQ(std::getenv(Token::kVariable), nullptr);
  setenv(Token::kVariable, "short", 1);
  const auto refused = Token::from_environment();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(has(refused.error().message, "HEAPTAP_TOKEN does not contain a complete token"));
}

}  // namespace
}  // namespace heaptap::channel
