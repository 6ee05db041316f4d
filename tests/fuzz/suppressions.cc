// Files of suppressions of any content: parsing and matching end, and errors name the line.
#include "analysis/query/suppressions.h"

#include <cstdint>
#include <string_view>

#include "analysis/query/suppression_writer.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

std::vector<model::Frame> made_up_frames() {
  std::vector<model::Frame> frames(3);
  frames[0].function = "shop::Cart::add(shop::Item const*)";
  frames[0].symbol = "_ZN4shop4Cart3addEPKNS_4ItemE";
  frames[0].file = "/src/cart.cc";
  frames[0].line = 41;
  frames[1].module = "/usr/lib/libgobject-2.0.so.0";
  frames[2].function = "main";
  frames[2].module = "/home/me/app";
  return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  using leaks::BlockState;
  static const std::vector<model::Frame> frames = made_up_frames();
  const std::string_view text(reinterpret_cast<const char*>(bytes), size_bytes);
  query::Suppressions suppressions;
  const auto added = suppressions.add(text, "file");
  FUZZ_EXPECT(added || (added.error().message.starts_with("file:") && suppressions.empty()));
  for (const BlockState state : {BlockState::kReachable, BlockState::kPossible, BlockState::kDefinite}) {
    const auto found = suppressions.find({wire::Function::kMalloc, frames}, state);
    FUZZ_EXPECT(!found || *found < suppressions.list().size());
  }
  // What is written for a stack with any name hides that stack. For a name that is in every stack there may be no rule.
  std::vector<model::Frame> named = frames;
  named[0].function = text.substr(0, 200);
  named[0].symbol.clear();
  const query::LeakToSuppress leak{
      .stack = {wire::Function::kNew, named}, .state = BlockState::kDefinite, .blocks = 1, .bytes = 1};
  for (const auto syntax : {query::SuppressionSyntax::kLsan, query::SuppressionSyntax::kValgrind}) {
    query::Suppressions own;
    FUZZ_EXPECT(own.add(query::write_suppressions(syntax, {&leak, 1}), "own"));
    FUZZ_EXPECT(own.list().size() <= 1);
    FUZZ_EXPECT(own.empty() || own.find(leak.stack, leak.state).has_value());
  }
  return 0;
}
