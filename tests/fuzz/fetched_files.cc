// A target's side that answers as it likes when files are asked for: what is kept is no more than may be, and of the file that is asked
// for; and the other way round, a host that asks for whatever it likes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/uplink/offered_files.h"
#include "common/base/check.h"
#include "common/line/line_messages.h"
#include "record/remote/file_fetcher.h"

namespace {

using namespace heaptap;
using line::Field;

constexpr uint64_t kFileBytes = 300;
constexpr uint64_t kAllBytes = 500;

class Taker : public remote::FileTaker {
 public:
  bool lacks(const model::Module& module) override { return module.build_id != "here"; }
  base::Result<> begin(const std::string& build_id) override {
    HEAPTAP_CHECK(!is_open_ && build_id != "here");
    is_open_ = true;
    bytes_ = 0;
    return {};
  }
  base::Result<> write(std::string_view bytes) override {
    HEAPTAP_CHECK(is_open_ && !bytes.empty());
    bytes_ += bytes.size();
    all_bytes_ += bytes.size();
    HEAPTAP_CHECK(bytes_ <= kFileBytes && all_bytes_ <= kAllBytes);
    return {};
  }
  base::Result<> finish() override {
    HEAPTAP_CHECK(is_open_ && bytes_ > 0);
    if (bytes_ % 3 == 0) return base::fail("another file");
    is_open_ = false;
    return {};
  }
  void drop() override {
    HEAPTAP_CHECK(is_open_);
    is_open_ = false;
  }

 private:
  bool is_open_ = false;
  uint64_t bytes_ = 0;
  uint64_t all_bytes_ = 0;
};

std::vector<model::Module> modules() {
  std::vector<model::Module> modules(4);
  const char* const build_ids[] = {"a", "here", "b", ""};
  for (size_t i = 0; i < modules.size(); ++i) modules[i].build_id = build_ids[i];
  return modules;
}

// What a transfer has next, with one field in the way of what the bytes say.
message::Fields answer_of(const message::Message& request, const uint8_t* data) {
  const uint64_t module = request.fields.number_or_0(Field::kModule);
  const uint64_t offset = request.fields.number_or_0(Field::kOffset);
  const uint8_t lie = data[0] % 16;
  message::Fields fields;
  fields.add(Field::kStream, request.fields.number_or_0(Field::kStream));
  fields.add(Field::kModule, lie == 1 ? uint64_t{data[1]} : module);
  fields.add(Field::kOffset, lie == 2 ? uint64_t{data[1]} : offset);
  fields.add(Field::kFileBytes, lie == 3 ? uint64_t{data[1]} << (data[2] % 64) : uint64_t{200});
  fields.add(Field::kBuildId, lie == 4 ? "c" : module == 0 ? "a" : "b");
  const uint64_t bytes =
      lie == 5 ? data[1] : std::min<uint64_t>(1 + data[1] % 100, 200 - std::min<uint64_t>(offset, 200));
  fields.add(Field::kBytes, std::string(bytes, 'x'));
  if (lie == 6) fields.add(Field::kText, "no");
  return fields;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Taker taker;
  remote::FileFetcher fetcher(taker, {.file_bytes = kFileBytes, .all_bytes = kAllBytes});
  uplink::OfferedFiles offered;
  offered.begin(true, true);
  fetcher.add(1, 0, modules());
  std::optional<message::Message> request;
  for (size_t at = 0; at + 3 <= size; at += 3) {
    while (auto message = fetcher.next_message()) {
      if (message->kind == line::Kind::kFileWanted) request = std::move(message);
    }
    if (request) fetcher.take(answer_of(*request, data + at));
    HEAPTAP_CHECK(fetcher.received_bytes() <= kAllBytes && fetcher.done_bytes() <= kFileBytes);
  }
  const std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (const auto fields = message::Fields::read(rest)) {
    fetcher.take(*fields);
    for (const auto kind : {line::Kind::kFileWanted, line::Kind::kFileSettled}) {
      HEAPTAP_CHECK(offered.take({.kind = kind, .number = 0, .fields = *fields}));
      if (const auto answer = offered.answer())
        HEAPTAP_CHECK(answer->why_not && answer->bytes.empty());  // it has no file
    }
  }
  fetcher.give_up("it is over");
  HEAPTAP_CHECK(fetcher.is_done());
  return 0;
}
