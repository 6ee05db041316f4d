// The facts of a capture: what was read can be written and read again.
#include <cstdint>

#include "common/frames/capture_frames.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  wire::VarintReader in(bytes, size_bytes);
  model::Capture capture;
  if (!frames::read_capture(in, capture)) return 0;
  frames::ByteBuffer written;
  frames::write_capture_start(written, capture);
  frames::write_capture_end(written, capture);
  model::Capture copy;
  wire::VarintReader again(written.data(), written.size());
  FUZZ_EXPECT(frames::read_capture(again, copy));
  FUZZ_EXPECT(copy.command == capture.command && copy.executable == capture.executable && copy.pid == capture.pid);
  FUZZ_EXPECT(copy.exit.code == capture.exit.code && copy.exit.signal == capture.exit.signal);
  FUZZ_EXPECT(copy.notes == capture.notes && copy.lost_events == capture.lost_events && copy.ended == capture.ended);
  return 0;
}
