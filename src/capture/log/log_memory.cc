#include "capture/log/log_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "capture/log/log_clock.h"
#include "common/base/fresh_name.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/wire/labels.h"
#include "common/wire/totals.h"

namespace heaptap::log {
namespace {

using base::whole_pages;

// Capacity of a log where nothing presses. All of it is sparse: only what is touched is memory.
struct Sizes {
  uint64_t slots = 65536;
  uint64_t modules_bytes = 1u << 20;
  uint64_t codes = 1u << 19;
  uint64_t nodes = 4u << 20;
  uint64_t start_nodes = 1u << 20;  // of these, before it grows
  uint64_t chunks = 4096;
  uint64_t start_chunks = 4096;  // of these, before it grows
  uint64_t stack_areas = 2048;
  uint64_t own_areas = 8192;
  uint64_t labels = 4096;
  uint64_t late_rows_bytes = 0;
  uint64_t entries = 0;  // of totals; 0: none
  uint64_t block_lines = 0;
};

constexpr uint64_t kMaxFileBytes = uint64_t{32} << 20;
constexpr uint64_t kLabelsOfFunctions = 65536;  // in place of the usual number, where functions have labels
constexpr uint64_t kLeastFileBytes = uint64_t{2} << 20;

uint64_t totals_bytes_of(const Sizes& sizes) {
  if (sizes.entries == 0) return 0;
  return whole_pages(sizeof(wire::TotalsHeader)) + whole_pages(wire::kOwnThreads * sizeof(wire::TotalsThread)) +
         whole_pages(sizes.entries * sizeof(wire::TotalsEntry)) +
         whole_pages(sizes.entries * sizeof(wire::TotalsRare)) + whole_pages(wire::page_count(sizes.block_lines)) +
         whole_pages(sizes.block_lines * sizeof(wire::BlockLine));
}

uint64_t total_of(const Sizes& sizes) {
  return whole_pages(sizeof(wire::LogHeader)) + whole_pages(sizes.slots * sizeof(wire::StreamSlot)) +
         whole_pages(sizes.modules_bytes) + whole_pages(sizes.codes * sizeof(wire::CodeEntry)) +
         whole_pages(sizes.nodes * sizeof(wire::StackNode)) +
         whole_pages(sizes.stack_areas * sizeof(wire::StackAreaEntry)) +
         whole_pages(sizes.own_areas * sizeof(wire::OwnArea)) + whole_pages(sizes.labels * sizeof(wire::LabelEntry)) +
         whole_pages(sizes.late_rows_bytes) + whole_pages(sizes.chunks * wire::kChunkBytes) + totals_bytes_of(sizes);
}

// A prime number of lines: so every step visits all of them.
uint64_t prime_up_to(uint64_t number) {
  const auto is_prime = [](uint64_t candidate) {
    for (uint64_t factor = 3; factor * factor <= candidate; factor += 2) {
      if (candidate % factor == 0) return false;
    }
    return true;
  };
  number -= 1 - number % 2;
  while (!is_prime(number)) number -= 2;
  return number;
}

// How a fixed amount of memory is divided. A live block takes 16 bytes, a stack 80 and 8 for each frame that it doesn't
// share.
Sizes totals_sizes(uint64_t bytes, bool has_functions) {
  const auto part = [bytes](uint64_t of_128, uint64_t entry_bytes, uint64_t most) {
    return std::min(bytes / 128 * of_128 / entry_bytes, most);
  };
  Sizes sizes;
  sizes.slots = part(2, sizeof(wire::StreamSlot), 16384);
  sizes.modules_bytes = part(4, 1, 1u << 20) & ~uint64_t{7};
  sizes.codes = part(5, sizeof(wire::CodeEntry), 1u << 23);
  sizes.nodes = sizes.start_nodes = part(22, sizeof(wire::StackNode), 1u << 26);
  sizes.chunks = sizes.start_chunks = part(3, wire::kChunkBytes, 1024);
  if (bytes < (8u << 20)) {
    sizes.stack_areas = 256;
    sizes.own_areas = 512;
    sizes.labels = 256;
  }
  if (has_functions) sizes.labels = kLabelsOfFunctions / 8;
  sizes.entries = part(28, sizeof(wire::TotalsEntry) + sizeof(wire::TotalsRare), wire::kMaxEntries);
  sizes.block_lines = wire::kFewestLines;
  const uint64_t taken = total_of(sizes);
  constexpr uint64_t kLineBytes = sizeof(wire::BlockLine) + 1;  // including its share of the pages
  if (bytes > taken) sizes.block_lines += std::min((bytes - taken) / kLineBytes, uint64_t{1} << 28);
  sizes.block_lines = prime_up_to(sizes.block_lines);
  return sizes;
}

// Halves the part above its minimum. False: there is none.
bool shrink(Sizes& sizes, uint64_t fewest_chunks) {
  struct Part {
    uint64_t& size;
    uint64_t least;
  };
  bool any = false;
  for (const Part& part :
       {Part{sizes.slots, 64}, Part{sizes.modules_bytes, 65536}, Part{sizes.codes, 16384}, Part{sizes.nodes, 65536},
        Part{sizes.labels, 4096}, Part{sizes.late_rows_bytes, 0}, Part{sizes.chunks, fewest_chunks}}) {
    any = any || part.size > part.least;
    part.size = std::max(part.size / 2, part.least);
  }
  sizes.start_chunks = sizes.chunks;
  sizes.start_nodes = sizes.nodes;
  return any;
}

// Unwind rows take at most a sixteenth of the memory.
Sizes totals_sizes_with_rows(const LogOptions& options) {
  const bool has_functions = (options.flags & wire::kInterpreterFrames) != 0;
  const uint64_t bytes = std::max(options.totals_bytes, kLeastTotalsBytes);
  const uint64_t rows_bytes = base::page_begin(std::min(options.late_rows_bytes, bytes / 16));
  if (bytes - rows_bytes < kLeastTotalsBytes) return totals_sizes(bytes, has_functions);
  Sizes sizes = totals_sizes(bytes - rows_bytes, has_functions);
  sizes.late_rows_bytes = rows_bytes;
  return sizes;
}

Sizes sizes_for(const LogOptions& options) {
  if (options.totals_bytes > 0) return totals_sizes_with_rows(options);
  static constexpr uint64_t kFewestChunks = 64;
  static constexpr uint64_t kFewestNodes = 4u << 20;
  static constexpr uint64_t kMaxNodes = 64u << 20;
  Sizes sizes;
  sizes.late_rows_bytes = options.late_rows_bytes & ~uint64_t{7};
  if ((options.flags & wire::kInterpreterFrames) != 0) sizes.labels = kLabelsOfFunctions;
  const auto chunks_in = [](uint64_t bytes) {
    return std::clamp<uint64_t>(bytes / wire::kChunkBytes, kFewestChunks, 1u << 22);
  };
  sizes.start_chunks = chunks_in(options.chunk_memory_bytes);
  sizes.chunks = std::max(chunks_in(options.max_chunk_memory_bytes), sizes.start_chunks);
  sizes.nodes = std::clamp(options.max_chunk_memory_bytes / sizeof(wire::StackNode), kFewestNodes, kMaxNodes);
  if (options.max_bytes != UINT64_MAX) sizes.chunks = sizes.start_chunks;
  if (options.max_bytes != UINT64_MAX) sizes.start_nodes = sizes.nodes = kFewestNodes;
  if constexpr (sizeof(void*) < sizeof(uint64_t)) {
    // The program has 2 to 4 GiB of addresses, and maps all of the log once.
    constexpr uint64_t kMaxMappedChunks = (64u << 20) / wire::kChunkBytes;
    sizes.start_nodes = sizes.nodes = 1u << 20;
    sizes.chunks = std::max(std::min(sizes.chunks, kMaxMappedChunks), sizes.start_chunks);
  }
  while (total_of(sizes) > options.max_bytes && shrink(sizes, kFewestChunks)) {
  }
  return sizes;
}

void lay_out_totals(wire::LogHeader& log, const Sizes& sizes) {
  const uint64_t start = log.chunks_offset + whole_pages(sizes.chunks * wire::kChunkBytes);
  log.totals_offset = start;
  auto& totals = *reinterpret_cast<wire::TotalsHeader*>(reinterpret_cast<uint8_t*>(&log) + start);
  totals.entry_capacity = static_cast<uint32_t>(sizes.entries);
  totals.line_count = static_cast<uint32_t>(sizes.block_lines);
  totals.threads_offset = start + whole_pages(sizeof(wire::TotalsHeader));
  totals.entries_offset = totals.threads_offset + whole_pages(wire::kOwnThreads * sizeof(wire::TotalsThread));
  totals.rare_offset = totals.entries_offset + whole_pages(sizes.entries * sizeof(wire::TotalsEntry));
  totals.pages_offset = totals.rare_offset + whole_pages(sizes.entries * sizeof(wire::TotalsRare));
  totals.lines_offset = totals.pages_offset + whole_pages(wire::page_count(sizes.block_lines));
  totals.entry_count.store(wire::kFunctionCount, std::memory_order_relaxed);
  auto* entries = reinterpret_cast<wire::TotalsEntry*>(reinterpret_cast<uint8_t*>(&log) + totals.entries_offset);
  for (uint8_t function = 0; function < wire::kFunctionCount; ++function) {
    constexpr auto kOther = static_cast<uint32_t>(wire::StackEnd::kTableFull);
    entries[function].key.store(wire::make_entry_key(kOther, 0, function), std::memory_order_relaxed);
  }
}

void lay_out(wire::LogHeader& log, const Sizes& sizes, const LogOptions& options) {
  log.magic = wire::kLogMagic;
  log.version = wire::kLogVersion;
  log.total_bytes = total_of(sizes);
  log.slot_count = static_cast<uint32_t>(sizes.slots);
  log.code_capacity = static_cast<uint32_t>(sizes.codes);
  log.node_capacity = static_cast<uint32_t>(sizes.nodes);
  log.start_nodes = static_cast<uint32_t>(sizes.start_nodes);
  log.usable_nodes.store(log.start_nodes, std::memory_order_relaxed);
  log.chunk_count = static_cast<uint32_t>(sizes.chunks);
  log.start_chunks = static_cast<uint32_t>(sizes.start_chunks);
  log.usable_chunks.store(log.start_chunks, std::memory_order_relaxed);
  log.slots_offset = whole_pages(sizeof(wire::LogHeader));
  log.modules_offset = log.slots_offset + whole_pages(sizes.slots * sizeof(wire::StreamSlot));
  log.modules_capacity = sizes.modules_bytes;
  log.codes_offset = log.modules_offset + whole_pages(sizes.modules_bytes);
  log.stack_areas_offset = log.codes_offset + whole_pages(sizes.codes * sizeof(wire::CodeEntry));
  log.stack_area_capacity = static_cast<uint32_t>(sizes.stack_areas);
  log.own_areas_offset = log.stack_areas_offset + whole_pages(sizes.stack_areas * sizeof(wire::StackAreaEntry));
  log.own_area_capacity = static_cast<uint32_t>(sizes.own_areas);
  log.labels_offset = log.own_areas_offset + whole_pages(sizes.own_areas * sizeof(wire::OwnArea));
  log.label_capacity = static_cast<uint32_t>(sizes.labels);
  log.late_rows_offset = log.labels_offset + whole_pages(sizes.labels * sizeof(wire::LabelEntry));
  log.late_rows_capacity = sizes.late_rows_bytes;
  log.chunks_offset = log.late_rows_offset + whole_pages(sizes.late_rows_bytes);
  const uint64_t chunks_end = log.chunks_offset + whole_pages(sizes.chunks * wire::kChunkBytes);
  if (sizes.entries > 0) lay_out_totals(log, sizes);
  log.nodes_offset = chunks_end + totals_bytes_of(sizes);  // at the end: it is mapped by parts
  log.depth_limit = options.depth_limit;
  log.sample_interval = options.sample_interval;
  log.overflow_policy = options.overflow_policy;
  constexpr uint32_t kOverflowWaitMs = 2000;
  log.overflow_wait_ms = kOverflowWaitMs;
  log.flags = options.flags;
  log.report_signal.store(options.report_signal, std::memory_order_relaxed);
  options.omitted_objects.copy(log.omitted_objects, sizeof(log.omitted_objects) - 1);
  log.node_count.store(wire::kRootCount, std::memory_order_relaxed);
  log.free_chunks.store(wire::kNoChunk, std::memory_order_relaxed);
  log.wake_threshold.store(wire::kNeverWake, std::memory_order_relaxed);
  log.coarse_clock.store(LogClock(log).now(), std::memory_order_relaxed);
}

// An unnamed file. It can't be sealed: a process that opens it can truncate it, which kills processes that touch the
// removed part. So no process can open it, if the file system supports that: it never has a name, and can't get one. The kernel
// prints the directory that it was made in, which is gone: by its name scans know the log in the maps of processes.
base::UniqueFd open_nameless(const std::string& directory) {
  std::string place = directory + "/" + kLogName + "-";
  if (base::make_fresh_directory(place)) {
    base::UniqueFd descriptor(open(place.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
    rmdir(place.c_str());
    if (descriptor) return descriptor;
  }
  std::string path = directory + "/" + kLogName + "-";
  base::UniqueFd named = base::make_fresh_file(path);
  if (named) unlink(path.c_str());
  return named;
}

// Such a file, for kernels and filters of system calls without memfd; none: no place for it. All of it is allocated at
// once, since a full file system would kill processes that touch a missing page: so it is small.
base::UniqueFd make_log_file(LogOptions options, Sizes& sizes) {
  const char* const directory = getenv("TMPDIR");
  for (uint64_t most = kMaxFileBytes; most >= kLeastFileBytes; most /= 2) {
    options.max_bytes = std::min(options.max_bytes, most);
    sizes = sizes_for(options);
    for (const char* place : {"/dev/shm", directory != nullptr ? directory : "/tmp", "/tmp"}) {
      base::UniqueFd descriptor = open_nameless(place);
      if (!descriptor) continue;
      const int failure = posix_fallocate(descriptor.get(), 0, static_cast<off_t>(total_of(sizes)));
      if (failure == 0) return descriptor;
      errno = failure;
    }
  }
  return {};
}

}  // namespace

base::Result<std::unique_ptr<LogMemory>> LogMemory::create(const LogOptions& options) {
  const auto failure = [] { return base::fail("can't make the memory for the log: {}", base::reason_of(errno)); };
  Sizes sizes = sizes_for(options);
  base::UniqueFd descriptor(memfd_create(kLogName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_sparse = static_cast<bool>(descriptor);
  if (is_sparse) {
    // Processes that share it may write, but not truncate it.
    constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const auto size = static_cast<off_t>(total_of(sizes));
    if (ftruncate(descriptor.get(), size) != 0 || fcntl(descriptor.get(), F_ADD_SEALS, kSeals) != 0) return failure();
  } else {
    descriptor = make_log_file(options, sizes);
  }
  if (!descriptor) return failure();
  const std::optional<size_t> bytes = base::as_size(total_of(sizes));
  if (!bytes) {
    errno = ENOMEM;
    return failure();
  }
  void* memory = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor.get(), 0);
  if (memory == MAP_FAILED) return failure();
  auto* header = static_cast<wire::LogHeader*>(memory);
  lay_out(*header, sizes, options);
  return std::unique_ptr<LogMemory>(new LogMemory(std::move(descriptor), header, *bytes, is_sparse));
}

std::optional<uint64_t> LogMemory::allocated_bytes() const {
  constexpr uint64_t kBlockBytes = 512;  // stat(2)
  struct stat status{};
  if (!is_sparse_ || fstat(descriptor_.get(), &status) != 0) return std::nullopt;
  return static_cast<uint64_t>(status.st_blocks) * kBlockBytes;
}

// An open file description of its own, with a lock: the mappings keep it, and with it the lock, when the descriptor is closed. A
// search for the processes would miss those of other users and those that are forked meanwhile.
base::UniqueFd LogMemory::descriptor_for_mapping() {
  base::UniqueFd separate(is_sparse_ ? open(base::path_of(descriptor_).c_str(), O_RDWR | O_CLOEXEC) : -1);
  knows_mappings_ = separate && flock(separate.get(), LOCK_SH | LOCK_NB) == 0;
  return knows_mappings_ ? std::move(separate) : descriptor_.duplicate();
}

bool LogMemory::is_mapped_elsewhere() const {
  if (!knows_mappings_) return false;
  if (flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  (void)flock(descriptor_.get(), LOCK_UN);
  return false;
}

LogMemory::~LogMemory() { munmap(header_, bytes_); }

}  // namespace heaptap::log
