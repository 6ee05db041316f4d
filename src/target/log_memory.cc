#include "target/log_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "arch/native.h"

namespace heaptap::target {
namespace {

// What a log holds where nothing presses. All of it is sparse: only what is touched is memory.
struct Sizes {
  uint64_t slots = 16384;
  uint64_t modules_bytes = 1u << 20;
  uint64_t codes = 1u << 19;
  uint64_t nodes = 4u << 20;
  uint64_t chunks = 4096;
  uint64_t stack_areas = 2048;
  uint64_t own_areas = 8192;
};

constexpr uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

uint64_t total_of(const Sizes& sizes) {
  return 4096 + whole_pages(sizes.slots * sizeof(wire::StreamSlot)) + whole_pages(sizes.modules_bytes) +
         whole_pages(sizes.codes * sizeof(wire::CodeEntry)) + whole_pages(sizes.nodes * sizeof(wire::StackNode)) +
         whole_pages(sizes.stack_areas * sizeof(wire::StackAreaEntry)) +
         whole_pages(sizes.own_areas * sizeof(wire::OwnArea)) + sizes.chunks * wire::kChunkBytes;
}

Sizes sizes_for(const LogOptions& options) {
  constexpr uint64_t kFewestChunks = 64;
  Sizes sizes;
  sizes.chunks = std::clamp<uint64_t>(options.chunk_memory_bytes / wire::kChunkBytes, kFewestChunks, 1u << 22);
  while (total_of(sizes) > options.most_bytes && sizes.chunks > kFewestChunks) {
    sizes.slots = std::max<uint64_t>(sizes.slots / 2, 64);
    sizes.modules_bytes = std::max<uint64_t>(sizes.modules_bytes / 2, 65536);
    sizes.codes = std::max<uint64_t>(sizes.codes / 2, 16384);
    sizes.nodes = std::max<uint64_t>(sizes.nodes / 2, 65536);
    sizes.chunks = std::max(sizes.chunks / 2, kFewestChunks);
  }
  return sizes;
}

void lay_out(wire::LogHeader& log, const Sizes& sizes, const LogOptions& options) {
  static_assert(sizeof(wire::LogHeader) <= 4096);
  log.magic = wire::kLogMagic;
  log.version = wire::kLogVersion;
  log.total_bytes = total_of(sizes);
  log.slot_count = static_cast<uint32_t>(sizes.slots);
  log.code_capacity = static_cast<uint32_t>(sizes.codes);
  log.node_capacity = static_cast<uint32_t>(sizes.nodes);
  log.chunk_count = static_cast<uint32_t>(sizes.chunks);
  log.slots_offset = 4096;
  log.modules_offset = log.slots_offset + whole_pages(sizes.slots * sizeof(wire::StreamSlot));
  log.modules_capacity = sizes.modules_bytes;
  log.codes_offset = log.modules_offset + whole_pages(sizes.modules_bytes);
  log.nodes_offset = log.codes_offset + whole_pages(sizes.codes * sizeof(wire::CodeEntry));
  log.stack_areas_offset = log.nodes_offset + whole_pages(sizes.nodes * sizeof(wire::StackNode));
  log.stack_area_capacity = static_cast<uint32_t>(sizes.stack_areas);
  log.own_areas_offset = log.stack_areas_offset + whole_pages(sizes.stack_areas * sizeof(wire::StackAreaEntry));
  log.own_area_capacity = static_cast<uint32_t>(sizes.own_areas);
  log.chunks_offset = log.own_areas_offset + whole_pages(sizes.own_areas * sizeof(wire::OwnArea));
  log.depth_limit = options.depth_limit;
  log.overflow_policy = options.overflow_policy;
  constexpr uint32_t kOverflowWaitMs = 2000;
  log.overflow_wait_ms = kOverflowWaitMs;
  log.flags = options.flags;
  options.omitted_objects.copy(log.omitted_objects, sizeof(log.omitted_objects) - 1);
  log.node_count.store(wire::kRootCount, std::memory_order_relaxed);
  log.free_chunks.store(wire::kNoChunk, std::memory_order_relaxed);
  log.coarse_clock.store(arch::native::read_clock(), std::memory_order_relaxed);
}

}  // namespace

std::unique_ptr<LogMemory> LogMemory::create(const LogOptions& options) {
  const Sizes sizes = sizes_for(options);
  const uint64_t bytes = total_of(sizes);
  const int descriptor = memfd_create("heaptap-log", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  }
  if (memory == MAP_FAILED) {
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return nullptr;
  }
  auto* header = static_cast<wire::LogHeader*>(memory);
  lay_out(*header, sizes, options);
  return std::unique_ptr<LogMemory>(new LogMemory(descriptor, header, bytes));
}

LogMemory::~LogMemory() {
  munmap(header_, bytes_);
  close_descriptor();
}

void LogMemory::close_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

}  // namespace heaptap::target
