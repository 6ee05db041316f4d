// The blocks in use of a process, by glibc's own data: list_chunks PID. Each on a line, address and most bytes. Status 3: its heaps
// are not understood.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "capture/elf/module_image.h"
#include "capture/process/process_memory.h"
#include "capture/process/stopped_process.h"
#include "capture/scan/chunk_lives.h"

int main(int count, char** arguments) {
  using namespace heaptap;
  pid_t process = 0;
  if (count == 2) std::from_chars(arguments[1], arguments[1] + std::strlen(arguments[1]), process);
  const auto stopped = process::StoppedProcess::stop(process);
  if (!stopped) {
    fmt::print(stderr, "{}\n", stopped.error().message);
    return 2;
  }
  process::ProcessMemory memory(stopped->live_thread(), stopped->word_bytes());
  const scan::ChunksInUse chunks = scan::find_chunks_in_use(memory, elf::find_modules(memory), 100'000'000);
  if (chunks.heaps.empty()) return 3;
  for (const base::AddressRange& heap : chunks.heaps) fmt::print("heap {} {}\n", heap.begin, heap.end);
  for (const base::AddressRange& block : chunks.blocks) fmt::print("block {} {}\n", block.begin, block.size());
  return 0;
}
