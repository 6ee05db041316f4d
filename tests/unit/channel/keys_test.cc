// Keys, their names, and the directory where a user's are.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/channel/key_directory.h"

namespace heaptap::channel {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class KeyDirectoryTest : public testing::Test {
 protected:
  ~KeyDirectoryTest() override { std::filesystem::remove_all(path_); }

  void write(const char* name, const std::string& text, mode_t mode = 0600) {
    std::filesystem::create_directories(directory_.path());
    std::ofstream(directory_.file(name)) << text;
    chmod(directory_.file(name).c_str(), mode);
  }

  std::string path_ = std::filesystem::temp_directory_path() / ("heaptap-keys-" + std::to_string(getpid()));
  KeyDirectory directory_{path_ + "/sub"};
};

TEST(KeyPair, SignsWhatItsPublicKeyProves) {
  const KeyPair one = *KeyPair::generate();
  const KeyPair other = *KeyPair::generate();
  const Digest digest = sha256({one.public_key()});
  const Signature signature = one.sign(digest);
  EXPECT_TRUE(is_signed_by(one.public_key(), digest, signature));
  EXPECT_FALSE(is_signed_by(other.public_key(), digest, signature));
  EXPECT_FALSE(is_signed_by(one.public_key(), Digest{}, signature));
  Signature changed = signature;
  changed[5] ^= 1;
  EXPECT_FALSE(is_signed_by(one.public_key(), digest, changed));
  EXPECT_FALSE(is_signed_by(PublicKey{}, digest, signature));
  EXPECT_FALSE(is_signed_by(one.public_key(), digest, Signature{}));
  EXPECT_EQ(KeyPair::from_secret(one.secret())->public_key(), one.public_key());
}

TEST(KeyPair, OfNoPrivateKeyIsNone) {
  EXPECT_FALSE(KeyPair::from_secret({}).has_value());
  KeyPair::Secret high;
  high.fill(255);
  EXPECT_FALSE(KeyPair::from_secret(high).has_value());
}

TEST(Fingerprint, IsReadAsItIsWritten) {
  const Fingerprint one = Fingerprint::of(KeyPair::generate()->public_key());
  const std::string text = one.to_text();
  EXPECT_EQ(text.size(), 50u);
  EXPECT_EQ(Fingerprint::parse(text), one);
  for (const std::string& wrong : {std::string(), std::string("SHA256:"), text.substr(1), text + "A",
                                   text.substr(0, 49), text.substr(0, 49) + "=", text.substr(0, 49) + "\n"}) {
    EXPECT_FALSE(Fingerprint::parse(wrong).has_value()) << wrong;
  }
}

TEST_F(KeyDirectoryTest, MakesAKeyOnceForItsOwnerAlone) {
  EXPECT_FALSE(directory_.read_key()->has_value());
  const auto made = directory_.make_key();
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(directory_.make_key()->secret(), made->secret());
  struct stat facts{};
  ASSERT_EQ(stat(directory_.file("key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0600U);
  ASSERT_EQ(stat(directory_.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0077U, 0U);
}

TEST_F(KeyDirectoryTest, RefusesAKeyThatOthersMayHave) {
  ASSERT_TRUE(directory_.make_key().has_value());
  chmod(directory_.file("key").c_str(), 0640);
  EXPECT_TRUE(has(directory_.read_key().error().message, "chmod 600"));
  chmod(directory_.file("key").c_str(), 0600);
  std::ofstream(directory_.file("key")) << "heaptap-key1:AAAA\n";
  EXPECT_TRUE(
      has(directory_.read_key().error().message, "does not contain a key: delete it, and pair the machines again"));
}

TEST_F(KeyDirectoryTest, ListsWhomItTrusts) {
  const Fingerprint one = Fingerprint::of(KeyPair::generate()->public_key());
  const Fingerprint other = Fingerprint::of(KeyPair::generate()->public_key());
  EXPECT_TRUE(directory_.read_trusted(KeyDirectory::kHosts)->empty());
  EXPECT_TRUE(*directory_.add_trusted(KeyDirectory::kHosts, {one, "desk"}));
  EXPECT_FALSE(*directory_.add_trusted(KeyDirectory::kHosts, {one, "desk"}));
  EXPECT_TRUE(*directory_.add_trusted(KeyDirectory::kHosts, {other, "another desk"}));
  const auto hosts = directory_.read_trusted(KeyDirectory::kHosts);
  ASSERT_TRUE(hosts.has_value()) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ(find_key(*hosts, other)->name, "another desk");
  EXPECT_EQ(find_key(*hosts, Fingerprint::of(KeyPair::generate()->public_key())), nullptr);
  EXPECT_TRUE(directory_.read_trusted(KeyDirectory::kTargets)->empty());
}

TEST_F(KeyDirectoryTest, TakesNoListThatOthersMayWriteOrThatMakesNoSense) {
  const std::string line = Fingerprint::of(KeyPair::generate()->public_key()).to_text();
  std::filesystem::create_directories(directory_.path());
  write("authorized_hosts", "# hosts\n\n  " + line + "\tdesk 2 \r\n" + line);
  const auto hosts = directory_.read_trusted(KeyDirectory::kHosts);
  EXPECT_TRUE(hosts.has_value());
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    chmod(directory_.file("authorized_hosts").c_str(), mode);
    EXPECT_TRUE(has(directory_.read_trusted(KeyDirectory::kHosts).error().message, "chmod go-w")) << mode;
  }
  chmod(directory_.file("authorized_hosts").c_str(), 0644);
  std::ofstream(directory_.file("authorized_hosts")) << line << "\nSHA256:x desk\n";
  EXPECT_TRUE(has(directory_.read_trusted(KeyDirectory::kHosts).error().message, "line 2 of"));
}

}  // namespace
}  // namespace heaptap::channel
