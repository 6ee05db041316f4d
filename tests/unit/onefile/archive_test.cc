// Made-up archives: what is read of them, and what is refused.
#include "apps/onefile/archive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace heaptap::onefile {
namespace {

constexpr size_t kBlockBytes = 512;

struct Made {
  std::string_view path;
  char type = '0';
  std::string_view content = {};
  std::string_view link = {};
  std::string_view prefix = {};
  std::string_view mode = "0000644";
};

std::string head_of(const Made& made, const std::string& size) {
  std::string head(kBlockBytes, '\0');
  const auto put = [&head](size_t offset, std::string_view text) { head.replace(offset, text.size(), text); };
  put(0, made.path);
  put(100, made.mode);
  put(124, size);
  head[156] = made.type;
  put(157, made.link);
  put(257, "ustar");
  put(345, made.prefix);
  return head;
}

std::string entry_of(const Made& made) {
  std::string entry = head_of(made, fmt::format("{:011o}", made.content.size())).append(made.content);
  entry.resize((entry.size() + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
  return entry;
}

TEST(Archive, HasFilesDirectoriesAndLinks) {
  const std::string tar =
      entry_of({.path = "./", .type = '5', .mode = "0000755"}) +
      entry_of({.path = "./bin/", .type = '5', .mode = "0000755"}) +
      entry_of({.path = "./bin/program", .content = "code", .mode = "0000755"}) +
      entry_of({.path = "name", .type = '2', .link = "bin/program", .prefix = "long/way", .mode = "0000777"}) +
      std::string(2 * kBlockBytes, '\0');
  const auto entries = parse_archive(tar);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].path, "bin");
  EXPECT_EQ((*entries)[0].kind, Entry::Kind::kDirectory);
  EXPECT_EQ((*entries)[1].path, "bin/program");
  EXPECT_EQ((*entries)[1].content, "code");
  EXPECT_EQ((*entries)[1].mode, 0755U);
  EXPECT_EQ((*entries)[2].path, "long/way/name");
  EXPECT_EQ((*entries)[2].link, "bin/program");
}

TEST(Archive, OfAWholeBlockEndsWithIt) {
  const std::string block(kBlockBytes, 'x');
  const std::string tar = entry_of({.path = "a", .content = block}) + entry_of({.path = "b"});
  const auto entries = parse_archive(tar);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].content, block);
}

TEST(Archive, LeadsNowhereElse) {
  for (const std::string_view path : {"/etc/passwd", "../a", "a/../../b", "a/.."}) {
    EXPECT_FALSE(parse_archive(entry_of({.path = path}))) << path;
  }
}

TEST(Archive, IsRefusedIfItIsDamaged) {
  const std::string file = entry_of({.path = "a", .content = "content"});
  EXPECT_FALSE(parse_archive(std::string_view(file).substr(0, kBlockBytes + 3))) << "its content is cut off";
  EXPECT_FALSE(parse_archive(head_of({.path = "a"}, "77777777777"))) << "larger than the archive";
  EXPECT_FALSE(parse_archive(head_of({.path = "a"}, "0000000009"))) << "not octal";
  EXPECT_FALSE(parse_archive(head_of({.path = "a", .mode = ""}, "00000000000"))) << "no permissions";
  EXPECT_FALSE(parse_archive(entry_of({.path = "a", .type = '3'}))) << "a device";
  std::string other = file;
  other.replace(257, 5, "other");
  EXPECT_FALSE(parse_archive(other));
}

}  // namespace
}  // namespace heaptap::onefile
