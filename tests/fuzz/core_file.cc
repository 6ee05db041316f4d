// A core file of any content: its threads, its memory and the leak scan of that.
#include "record/core_files/core_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "capture/process/stopped_process.h"
#include "capture/stream/mapped_ranges.h"
#include "capture/supervision/earlier_blocks.h"
#include "capture/supervision/scan_parts.h"
#include "common/frames/table_frames.h"
#include "fuzz/support/expect.h"
#include "record/core_files/core_memory.h"

using namespace heaptap;
using namespace heaptap::core_files;

namespace {

class SpanBytes final : public base::ByteSource {
 public:
  explicit SpanBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  size_t read_some(uint64_t offset, void* to, size_t bytes) const override {
    if (offset >= bytes_.size() || bytes == 0) return 0;
    const size_t count = std::min<size_t>(bytes, bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(to, bytes_.data() + offset, count);
    return count;
  }

 private:
  std::span<const uint8_t> bytes_;
};

void scan_memory(const CoreFile& core, CoreMemory& memory) {
  const process::StoppedProcess process = process::StoppedProcess::held(
      {.process = static_cast<pid_t>(core.process_id), .architecture = core.architecture, .threads = core.threads}, {});
  const model::Tables tables = frames::empty_tables();
  const stream::MappedRanges mapped;
  supervision::Recorded recorded{.blocks = {}, .pooled = {}, .mapped = mapped, .tables = tables};
  const auto found = supervision::add_earlier_blocks(recorded, process, memory, [](uint64_t) { return 0u; });
  const auto heap = supervision::heap_ranges(recorded.blocks);
  const scan::RootQuery query{.heap = heap,
                              .heap_is_complete = false,
                              .known_heaps = found.heaps,
                              .doubtful = found.doubtful,
                              .released = {},
                              .mapped = {},
                              .own = {},
                              .stacks = {},
                              .ending = {},
                              .has_kernel = false};
  const scan::Roots roots = scan::find_roots(process, memory, query);
  scan::HeapScanner scanner(supervision::scan_input(std::move(recorded), roots));
  supervision::MemoryCounter reader(memory);
  scanner.collect(reader);
  (void)scanner.resolve();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const SpanBytes source({bytes, size_bytes});
  auto core = read_core_file(source, size_bytes, "core");
  if (!core) return 0;
  // No file of this machine is read.
  for (MappedFile& file : core->files) file.path.insert(0, "/proc/");
  uint64_t end = 0;
  for (const CoreSegment& segment : core->segments) {
    FUZZ_EXPECT(segment.memory.begin >= end && segment.memory.end > segment.memory.begin);
    FUZZ_EXPECT(segment.there_bytes <= segment.written_bytes && segment.written_bytes <= segment.memory.size());
    FUZZ_EXPECT(segment.there_bytes == 0 || segment.offset + segment.there_bytes <= size_bytes);
    end = segment.memory.end;
  }
  CoreMemory memory(source, *core, "");
  end = 0;
  for (const process::Mapping& mapping : memory.map()) {
    FUZZ_EXPECT(mapping.range.begin >= end && mapping.range.end > mapping.range.begin);
    end = mapping.range.end;
  }
  scan_memory(*core, memory);
  return 0;
}
