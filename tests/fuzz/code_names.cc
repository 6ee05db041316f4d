// What programs write down of code that they made, and the names that come of it: of codes that are sought, within their limits, and
// none of others; the payload that they travel in comes out the same when it is written and read again.
//
// The first byte: 0: a payload of names; 1: a perf map; 2: records of a jitdump. Before the latter two: sixteen addresses of 16 bits that
// are sought, and how many bytes the file has beyond what is there.
#include <cstdint>
#include <string_view>
#include <vector>

#include "capture/supervision/sought_code.h"
#include "common/frames/code_name_frames.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

constexpr model::CodeId kCodes = 16;
constexpr supervision::SoughtCodeLimits kLimits{.codes = 14, .name_bytes = 3000};

void check_payload(std::span<const uint8_t> payload) {
  wire::VarintReader in(payload.data(), payload.size());
  std::vector<model::CodeName> names;
  if (!frames::read_code_names(in, names)) return;
  frames::ByteBuffer written;
  frames::write_code_names(written, names);
  wire::VarintReader again(written.data(), written.size());
  std::vector<model::CodeName> copy;
  FUZZ_EXPECT(frames::read_code_names(again, copy) && again.at_end());
  const auto is_same = [](const model::CodeName& x, const model::CodeName& y) {
    return x.code == y.code && x.name == y.name;
  };
  FUZZ_EXPECT(std::ranges::equal(names, copy, is_same));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const unsigned what = source.take<uint8_t>() % 3;
  if (what == 0) {
    check_payload(source.rest());
    return 0;
  }
  supervision::SoughtCode code(kLimits);
  for (model::CodeId i = 0; i < kCodes; ++i) code.add(i, source.take<uint16_t>());
  const auto beyond = source.take<uint16_t>();
  const auto rest = source.rest();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  std::vector<bool> named(kCodes);
  for (int searches = 0; searches < 3 && !code.is_empty(); ++searches) {
    code.begin();
    const uint64_t read = what == 1 ? supervision::read_perf_map(text, code)
                                    : supervision::read_jitdump(text, text.size() + beyond, code);
    FUZZ_EXPECT(read <= text.size() + beyond);
    size_t name_bytes = 0;
    for (const model::CodeName& name : code.end()) {
      FUZZ_EXPECT(name.code < kLimits.codes && !named[name.code]);
      FUZZ_EXPECT(!name.name.empty() && name.name.size() <= model::kMaxCodeNameBytes);
      named[name.code] = true;
      name_bytes += name.name.size();
    }
    FUZZ_EXPECT(name_bytes <= kLimits.name_bytes);
  }
  return 0;
}
