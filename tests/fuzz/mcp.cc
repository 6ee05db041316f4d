// Lines from a client of `heaptap mcp`: each is answered by nothing or by one line of JSON with the client's id, in pages of bounded
// size.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support/expect.h"
#include "views/json/json_reader.h"
#include "views/mcp/page.h"
#include "views/mcp/session.h"

using namespace heaptap;

namespace {

mcp::Session make_session() {
  const auto echo = [](const mcp::ToolArguments& arguments) -> base::Result<std::string> {
    std::string text = arguments.text("text");
    if (text.empty()) return base::fail("no text");
    for (uint64_t times = arguments.number("times").value_or(0) % 1000; times != 0; --times)
      text += arguments.text("text");
    return text;
  };
  return {{.name = "heaptap", .title = "heaptap", .version = "0", .instructions = ""},
          {{.name = "echo",
            .title = "",
            .description = "",
            .parameters = {{.name = "text", .description = ""},
                           {.name = "times", .type = mcp::Parameter::Type::kNumber, .description = ""},
                           {.name = "sort", .description = "", .words = {"live", "peak"}}},
            .answer = echo}}};
}

void check_answer(const json::JsonValue& answer) {
  FUZZ_EXPECT(answer.find("jsonrpc") != nullptr && answer.find("id") != nullptr);
  FUZZ_EXPECT((answer.find("result") == nullptr) != (answer.find("error") == nullptr));
  if (answer.find("result") == nullptr || answer.find("result")->find("content") == nullptr) return;
  FUZZ_EXPECT(answer.find("result")->find("content")->elements()[0].find("text")->string().size() <=
              mcp::kMaxPageBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes), size_bytes);
  mcp::Session session = make_session();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const auto text = session.answer(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!text) continue;
    FUZZ_EXPECT(!text->contains('\n'));
    const auto answer = json::read_json(*text);
    FUZZ_EXPECT(answer.has_value());
    if (!answer->is(json::JsonValue::Kind::kArray)) check_answer(*answer);
    for (const json::JsonValue& each : answer->elements()) check_answer(each);
  }
  return 0;
}
