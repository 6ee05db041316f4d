#include "views/push/otlp.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace heaptap::push {
namespace {

TEST(ARejection, IsACountOfAnAnswer) {
  EXPECT_EQ(rejection_in(std::string("\x0a\x0b\x08\x02\x12\x07too old", 13)), "it rejects profiles: too old");
  EXPECT_EQ(rejection_in(std::string("\x0a\x02\x08\x01", 4)), "it rejects profiles");
  EXPECT_EQ(rejection_in(std::string("\x0a\x0b\x08\x02\x12\x07too", 9)), "it rejects profiles: too");  // cut
  EXPECT_EQ(rejection_in(std::string("\x0a\x05\x08\x01\x12\x01\x1b", 7)), "it rejects profiles: \\x1b");
}

TEST(ARejection, IsNoneWhereNothingIsRejected) {
  for (const std::string& answer : {std::string(), std::string("{}"), std::string("\x0a\x00", 2),
                                    std::string("\x0a\x04\x12\x02ok", 6), std::string("\x0a\x02\x08\x00", 4)})
    EXPECT_EQ(rejection_in(answer), "");
}

TEST(ARejection, IsReadFromAnyBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 10'000; ++round) {
    std::string answer(random() % 20, '\0');
    for (char& byte : answer) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 32);
    answer.insert(0, "\x0a");
    (void)rejection_in(answer);
  }
}

}  // namespace
}  // namespace heaptap::push
