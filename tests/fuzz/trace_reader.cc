// Whole trace files. Whatever they hold: reading ends, every event refers to what is in the tables, and reading with
// addresses and without gives the same events.
#include <algorithm>
#include <cstdint>

#include "fuzz/support/expect.h"
#include "fuzz/support/memory_file.h"
#include "fuzz/support/trace_mutator.h"
#include "record/trace/trace_reader.h"

using namespace heaptap;

namespace {

class CheckingSink : public trace::EventSink {
 public:
  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override {
    model::BlockNumber next = batch.first_block;
    FUZZ_EXPECT(batch.events.empty() || (!batch.time_marks.empty() && batch.time_marks[0].first_event == 0));
    for (const model::Event& event : batch.events) {
      FUZZ_EXPECT(event.site < tables.sites.size());
      const model::Site& site = tables.sites[event.site];
      FUZZ_EXPECT(site.stack < tables.stacks.size());
      if (site.kind == model::EventKind::kRelease) FUZZ_EXPECT(event.size_or_block < next);
      if (site.kind == model::EventKind::kAllocate) ++next;
      sum_ = sum_ * 31 + event.site + event.size_or_block;
      ++events_;
    }
  }
  [[nodiscard]] bool equals(const CheckingSink& other) const { return sum_ == other.sum_ && events_ == other.events_; }

 private:
  uint64_t sum_ = 0;
  uint64_t events_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const fuzz::MemoryFile file({bytes, size_bytes});
  auto reader = trace::TraceReader::open(file.path());
  if (!reader) {
    FUZZ_EXPECT(!reader.error().message.empty());
    return 0;
  }
  CheckingSink plain;
  FUZZ_EXPECT(reader->replay(plain).has_value());
  const bool damaged = reader->capture().truncated;
  FUZZ_EXPECT(damaged == !reader->capture().damage.empty());
  CheckingSink with_addresses;
  FUZZ_EXPECT(reader->replay(with_addresses, {.addresses = true, .decoder_thread = false, .progress = {}}).has_value());
  for (size_t i = 0; i < std::min<size_t>(reader->scans().size(), 4); ++i) {
    const auto scan = reader->load_scan(i);
    if (!scan) FUZZ_EXPECT(!scan.error().message.empty());
    if (scan) FUZZ_EXPECT(scan->blocks.size() == reader->scans()[i].block_count);
    if (scan) FUZZ_EXPECT(scan->pointers_begin.size() == scan->blocks.size() + 1);
    if (!scan || !scan->resident) continue;
    uint64_t end = 0;
    for (const model::Region& region : scan->resident->regions) {
      FUZZ_EXPECT(region.range.begin >= end && region.range.end > region.range.begin);
      FUZZ_EXPECT(region.resident_bytes <= region.range.size());
      end = region.range.end;
    }
  }
  // A frame whose addresses alone are damaged is read without them and refused with them.
  if (damaged == reader->capture().truncated && !damaged) FUZZ_EXPECT(plain.equals(with_addresses));
  // Followed in small steps it gives what one reading of it gives.
  auto follower = trace::TraceReader::open(file.path());
  CheckingSink followed;
  for (uint64_t before = UINT64_MAX; follower->followed_bytes() != before;) {
    before = follower->followed_bytes();
    FUZZ_EXPECT(follower->follow(followed, {.addresses = true, .pause_after_bytes = 64}).has_value());
  }
  if (!reader->capture().truncated) FUZZ_EXPECT(followed.equals(with_addresses) && !follower->capture().truncated);
  FUZZ_EXPECT(follower->marks().size() <= size_bytes);
  FUZZ_EXPECT(reader->resident().size() <= model::kMaxResidentSamples);
  FUZZ_EXPECT(std::ranges::is_sorted(reader->resident(), {}, &model::ResidentSample::time_ns));
  if (!damaged && !follower->capture().truncated) FUZZ_EXPECT(reader->resident() == follower->resident());
  return 0;
}
