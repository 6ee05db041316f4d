// A core file of any content: its threads, its memory and the leak scan of that.
#include "record/core_files/core_file.h"

#include <cstdint>
#include <span>

#include "fuzz/support/expect.h"
#include "fuzz/support/span_bytes.h"
#include "record/core_files/core_memory.h"
#include "record/core_files/core_scan.h"

using namespace heaptap;
using namespace heaptap::core_files;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const fuzz::SpanBytes source({bytes, size_bytes});
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
  (void)CoreScan(*core, memory).scan();
  return 0;
}
