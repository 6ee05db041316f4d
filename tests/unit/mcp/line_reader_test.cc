#include "views/mcp/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace heaptap::mcp {
namespace {

// What the reader finds in `sent`: lines, "…" for one that is too long.
std::vector<std::string> found_in(const std::string& sent, size_t max_bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::jthread writer([&] {
    for (size_t at = 0; at < sent.size();) {
      const ssize_t count = write(ends[1], sent.data() + at, sent.size() - at);
      if (count <= 0) break;
      at += static_cast<size_t>(count);
    }
    close(ends[1]);
  });
  LineReader reader(ends[0], max_bytes);
  std::vector<std::string> found;
  for (auto next = reader.next(); next != LineReader::Found::kEnd; next = reader.next())
    found.push_back(next == LineReader::Found::kLine ? reader.line() : "…");
  close(ends[0]);
  return found;
}

TEST(LineReader, ReadsLinesAndALastOneWithoutEnd) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(found_in("a\n\nbc\n", 10), Lines({"a", "", "bc"}));
  EXPECT_EQ(found_in("a\nbc", 10), Lines({"a", "bc"}));
  EXPECT_EQ(found_in("", 10), Lines());
  EXPECT_EQ(found_in(std::string("a\0b\n", 4), 10), Lines({std::string("a\0b", 3)}));
}

TEST(LineReader, SkipsLinesThatAreTooLong) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(found_in("1234567890\n12345678901\nx\n", 10), Lines({"1234567890", "…", "x"}));
  EXPECT_EQ(found_in(std::string(1'000'000, 'a') + "\nb\n" + std::string(1'000'000, 'a'), 100), Lines({"…", "b", "…"}));
  const std::string whole(300'000, 'b');
  EXPECT_EQ(found_in(whole + "\nc", 300'000), Lines({whole, "c"}));
}

TEST(LineReader, AnUnreadableDescriptorIsAtItsEnd) {
  LineReader reader(-1, 10);
  EXPECT_EQ(reader.next(), LineReader::Found::kEnd);
}

}  // namespace
}  // namespace heaptap::mcp
