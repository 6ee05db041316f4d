// The vectors of RFC 4648, 10, without padding; and what is no base64.
#include "common/base/base64.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/base/byte_span.h"

namespace heaptap::base {
namespace {

TEST(Base64, IsWrittenAndRead) {
  for (const auto& [plain, encoded] :
       {std::pair("", ""), std::pair("f", "Zg"), std::pair("fo", "Zm8"), std::pair("foo", "Zm9v"),
        std::pair("foob", "Zm9vYg"), std::pair("fooba", "Zm9vYmE"), std::pair("foobar", "Zm9vYmFy")}) {
    EXPECT_EQ(base64_encode(bytes_of(plain)), encoded);
    std::vector<uint8_t> bytes(std::string_view(plain).size());
    EXPECT_TRUE(base64_decode(encoded, bytes));
    EXPECT_EQ(text_of(bytes), plain);
  }
}

TEST(Base64, IsPadded) {
  for (const auto& [plain, encoded] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="), std::pair("foo", "Zm9v")}) {
    EXPECT_EQ(base64_padded(bytes_of(plain)), encoded);
  }
}

TEST(Base64, ThatIsNoneIsRefused) {
  std::vector<uint8_t> byte(1);
  for (const char* const text : {"", "Z", "Zg=", "Zg==", "Zm8", "Z!", "Zh", "Zg\n"}) {
    EXPECT_FALSE(base64_decode(text, byte)) << text;
  }
}

}  // namespace
}  // namespace heaptap::base
