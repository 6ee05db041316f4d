// Variable-length integers: what is read can be written and read again; reading never leaves its range.
#include <cstdint>

#include "common/wire/varint.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  wire::VarintReader in(bytes, size_bytes);
  while (!in.at_end()) {
    const uint64_t value = in.varint();
    if (!in.ok()) {
      FUZZ_EXPECT(value == 0 && in.at_end() && in.left() == 0);
      break;
    }
    uint8_t written[wire::kMaxVarintBytes];
    const uint8_t* end = wire::write_varint(written, value);
    wire::VarintReader again(written, static_cast<size_t>(end - written));
    FUZZ_EXPECT(again.varint() == value && again.ok() && again.at_end());
    FUZZ_EXPECT(wire::zigzag(wire::unzigzag(value)) == value);
  }
  return 0;
}
