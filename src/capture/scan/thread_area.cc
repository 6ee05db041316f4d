#include "capture/scan/thread_area.h"

#include <elf.h>

#include <algorithm>

#include "capture/elf/dynamic_section.h"
#include "capture/elf/loader_list.h"
#include "common/arch/native.h"
#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

constexpr uint64_t kMaxStaticBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxModules = 65536;
constexpr uint64_t kMaxDynamicBytes = 4096;

// The loader enters its list in the program's dynamic section.
std::vector<elf::ListedObject> list_loaded_objects(const process::ProgramMemory& memory,
                                                   const std::vector<elf::ModuleImage>& modules) {
  const auto form = elf::ElfForm::of_this_machine(memory.word_bytes());
  for (const elf::ModuleImage& module : modules) {
    const elf::DynamicSection dynamic(memory, form, module.dynamic, kMaxDynamicBytes, module.bias, {});
    auto objects = elf::read_unnamed_objects(memory, form, dynamic.value(DT_DEBUG).value_or(0));
    if (!objects.empty()) return objects;
  }
  return {};
}

// The loader's private fields of a module's thread-local variables are adjacent: image, its size, size, alignment, …
std::optional<ThreadLocalModule> read_numbering(const process::ProgramMemory& memory, uint64_t link_map,
                                                const elf::ModuleImage& module, bool musl) {
  constexpr uint64_t kLargestLinkMap = 2048;
  const elf::ThreadLocalImage& image = module.thread_locals;
  const auto words = memory.words({link_map, link_map + kLargestLinkMap});
  for (size_t i = 0; i + 6 < words.size(); ++i) {
    if (words[i] != image.address || words[i + 1] != image.file_bytes) continue;
    if (musl) return ThreadLocalModule{words[i + 5], module.bias, image.memory_bytes, words[i + 4]};
    if (words[i + 2] != image.memory_bytes || words[i + 3] != image.alignment) continue;
    const uint64_t offset = words[i + 5];
    return ThreadLocalModule{words[i + 6], module.bias, image.memory_bytes, offset < kMaxStaticBytes ? offset : 0};
  }
  return std::nullopt;
}

// Of the table of thread-local blocks.
uint64_t table_place(const process::ProgramMemory& memory, uint64_t thread_pointer) {
  return arch::native::kControlBlockIsBelow ? thread_pointer : thread_pointer + memory.word_bytes();
}

// glibc's list of threads: in each control block, right before the thread's number, the next and the previous place in a ring.
bool is_in_ring(const process::ProgramMemory& memory, uint64_t place, uint64_t next, uint64_t previous) {
  const unsigned word = memory.word_bytes();
  return place % (uint64_t{2} * word) == 0 && next % word == 0 && previous % word == 0 &&
         process::find_mapping(memory.map(), next) != nullptr && memory.word(next + word) == place &&
         memory.word(previous) == place;
}

}  // namespace

base::AddressRange ControlBlocks::at(uint64_t thread_pointer) const {
  if (arch::native::kControlBlockIsBelow) return {thread_pointer - std::min(bytes, thread_pointer), thread_pointer};
  return {thread_pointer, thread_pointer + bytes};
}

// Where it ends at the thread pointer, its size matters: the thread's number is at the same place from its beginning in all versions.
ControlBlocks find_control_blocks(const process::ProgramMemory& memory, const arch::ThreadFacts& facts,
                                  const std::vector<process::StoppedThread>& threads, bool musl) {
  constexpr uint64_t kMusls = 256;
  ControlBlocks blocks{facts, musl ? kMusls : facts.glibc_control_block_bytes};
  if (!arch::native::kControlBlockIsBelow) return blocks;
  constexpr uint64_t kMaxBytes = 8192;
  const unsigned word = memory.word_bytes();
  for (const process::StoppedThread& thread : threads) {
    if (thread.thread_pointer < kMaxBytes) continue;
    const base::AddressRange below{thread.thread_pointer - kMaxBytes, thread.thread_pointer};
    const auto words = memory.words(below);
    for (size_t i = words.size(); i >= 3; --i) {
      const uint64_t place = below.begin + (i - 3) * word;
      if (static_cast<uint32_t>(words[i - 1]) != thread.thread_id) continue;
      if (!is_in_ring(memory, place, words[i - 3], words[i - 2])) continue;
      blocks.bytes = below.end - (place + uint64_t{2} * word) + facts.glibc_thread_number;
      return blocks;
    }
  }
  return blocks;
}

std::optional<base::AddressRange> find_thread_area(const process::ProgramMemory& memory, const ControlBlocks& blocks,
                                                   uint64_t thread_pointer) {
  const base::AddressRange block = blocks.at(thread_pointer);
  const auto words = memory.words(block);
  constexpr uint64_t kLargestStack = uint64_t{1} << 40;
  const uint64_t least_behind = arch::native::kControlBlockIsBelow       ? 16
                                : is_musl_thread(memory, thread_pointer) ? 64
                                                                         : 256;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const base::AddressRange area{words[i], words[i] + words[i + 1]};
    // glibc: stackblock, stackblock_size; musl: map_base, map_size.
    const bool fits = words[i + 1] <= kLargestStack && area.begin % 16 == 0 && area.begin < block.begin &&
                      area.end > thread_pointer + least_behind && area.end <= thread_pointer + 65536;
    if (!fits || thread_pointer - area.begin < base::page_bytes()) continue;
    if (process::find_mapping(memory.map(), area.begin) != nullptr) return area;
  }
  return std::nullopt;
}

bool is_musl_thread(const process::ProgramMemory& memory, uint64_t thread_pointer) {
  const auto points_to_itself = [&](uint64_t address) {
    return address >= base::page_bytes() && memory.word(address) == address;
  };
  const unsigned word = memory.word_bytes();
  const auto head = memory.words({thread_pointer, thread_pointer + uint64_t{4} * word});  // self, table, previous, next
  return head.size() == 4 && head[0] == thread_pointer && points_to_itself(head[2]) && points_to_itself(head[3]);
}

std::optional<uint64_t> find_thread_pointer(process::ProgramMemory& memory, const ControlBlocks& blocks,
                                            const process::Mapping& mapping) {
  const uint64_t end_bytes = 2 * base::page_bytes();
  constexpr uint64_t kLargestStack = uint64_t{64} << 20;
  constexpr uint64_t kMaxSearched = uint64_t{1} << 20;
  if (mapping.range.size() < 2 * end_bytes) return std::nullopt;
  const auto find_in = [&](base::AddressRange range) -> std::optional<uint64_t> {
    const auto words = memory.words(range);
    for (size_t i = 0; i + 2 < words.size(); ++i) {
      const uint64_t address = range.begin + i * memory.word_bytes();
      if (arch::native::kControlBlockIsBelow) {
        const uint64_t below = blocks.facts.glibc_thread_number - uint64_t{2} * memory.word_bytes();
        if (words[i] != 0 && is_in_ring(memory, address, words[i], words[i + 1])) return address - below + blocks.bytes;
      } else if (words[i] == address && words[i + 2] == address) {
        return address;
      }
    }
    return std::nullopt;
  };
  const base::AddressRange end{mapping.range.end - end_bytes, mapping.range.end};
  if (!memory.touched_ranges(end.begin, end.end).empty()) {
    if (const auto found = find_in(end)) return found;
  }
  // The kernel merges adjacent mappings, so other memory may be above the thread's. Usually little of an ended thread's
  // stack was touched.
  uint64_t searched = 0;
  for (base::AddressRange part :
       memory.touched_ranges(mapping.range.begin, std::min(mapping.range.begin + kLargestStack, mapping.range.end))) {
    part.end = std::min(part.end, part.begin + (kMaxSearched - searched));
    if (const auto found = find_in(part)) return found;
    searched += part.size();
    if (searched >= kMaxSearched) break;
  }
  return std::nullopt;
}

uint64_t thread_local_table_memory(const process::ProgramMemory& memory, uint64_t thread_pointer) {
  if (is_musl_thread(memory, thread_pointer)) return 0;
  const uint64_t entries = memory.word(table_place(memory, thread_pointer)).value_or(0);
  const uint64_t head = uint64_t{2} * memory.word_bytes();  // how many entries there are
  return entries < base::page_bytes() ? 0 : entries - head;
}

bool waits_for_join(const process::ProgramMemory& memory, const ControlBlocks& blocks, uint64_t thread_pointer) {
  if (is_musl_thread(memory, thread_pointer)) return true;  // the others' memory is unmapped
  // glibc: the thread's number becomes 0 at its end, and -1 when it was joined. A detached thread is joined to itself.
  const base::AddressRange block = blocks.at(thread_pointer);
  const uint64_t place = block.begin + blocks.facts.glibc_thread_number;
  const auto number = memory.value<int32_t>(place);
  if (!number || *number != 0) return false;
  const auto words = memory.words({place, block.end});
  return std::ranges::find(words, block.begin) == words.end();
}

ThreadLocalModules find_thread_local_modules(const process::ProgramMemory& memory,
                                             const std::vector<elf::ModuleImage>& modules, bool musl) {
  ThreadLocalModules result;
  result.musl = musl;
  const std::vector<elf::ListedObject> objects = list_loaded_objects(memory, modules);
  for (const elf::ListedObject& object : objects) {
    const auto module = std::ranges::find(modules, object.bias, &elf::ModuleImage::bias);
    if (module == modules.end() || module->thread_locals.memory_bytes == 0) continue;
    const auto numbered = read_numbering(memory, object.link_map, *module, result.musl);
    if (numbered && numbered->number < kMaxModules) result.modules.push_back(*numbered);
  }
  if (!objects.empty()) return result;
  // A static program: it is the only module, and the first.
  for (const elf::ModuleImage& module : modules) {
    const elf::ThreadLocalImage& image = module.thread_locals;
    if (image.memory_bytes != 0) result.modules.push_back({1, module.bias, image.memory_bytes, 0});
  }
  return result;
}

ThreadLocalTable read_thread_local_table(const process::ProgramMemory& memory, const ControlBlocks& blocks,
                                         uint64_t thread_pointer, const ThreadLocalModules& modules) {
  constexpr bool kAbove = arch::native::kControlBlockIsBelow;
  const unsigned word = memory.word_bytes();
  ThreadLocalTable table;
  table.statics = {thread_pointer, kAbove ? thread_pointer + uint64_t{2} * word : thread_pointer};
  const uint64_t entries = memory.word(table_place(memory, thread_pointer)).value_or(0);
  if (entries < base::page_bytes() || entries % word != 0) return table;
  const size_t entry_words = modules.musl ? 1 : 2;    // glibc: block, what to free
  const uint64_t head = modules.musl ? 0 : 2 * word;  // glibc: number of entries
  const uint64_t count = memory.word(entries - head).value_or(0);
  if (count == 0 || count > kMaxModules) return table;
  const auto words = memory.words({entries, entries + (count + 1) * entry_words * word});
  table.range = {entries - head, entries + words.size() * word};
  for (size_t number = 1; number * entry_words + entry_words <= words.size(); ++number) {
    const auto module = std::ranges::find(modules.modules, uint64_t{number}, &ThreadLocalModule::number);
    const bool known = module != modules.modules.end();
    uint64_t begin = words[number * entry_words];
    const uint64_t offset = known ? module->static_offset : 0;
    const uint64_t static_begin = offset == 0 ? 0 : kAbove ? thread_pointer + offset : thread_pointer - offset;
    // musl plans such a place for later modules as well, for which existing threads have a separate block.
    const bool has_static_place = static_begin != 0 && (!modules.musl || begin == static_begin);
    if (has_static_place) begin = static_begin;
    const uint64_t not_yet = word == sizeof(uint32_t) ? 0xffffffff : ~uint64_t{0};  // glibc: allocated at first use
    if (begin < base::page_bytes() || begin > blocks.facts.highest_address || begin == not_yet) continue;
    // In a static program the offset of the one module isn't known.
    const bool has_place = modules.musl ? known && (has_static_place || module->static_offset == 0)
                                        : !known || has_static_place || modules.modules.size() == 1;
    const uint64_t distance = kAbove ? begin - thread_pointer : thread_pointer - begin;  // large: on the other side
    const bool is_static = has_place && distance != 0 && distance < kMaxStaticBytes;
    const uint64_t allocated = modules.musl ? 0 : words[number * 2 + 1];
    const uint64_t bytes = known ? module->bytes : 0;
    table.blocks.push_back({begin, bytes, allocated, known ? module->bias : 0});
    if (!is_static || allocated != 0) continue;
    table.statics.begin = std::min(table.statics.begin, begin);
    if (kAbove) table.statics.end = std::max(table.statics.end, begin + bytes);
  }
  return table;
}

}  // namespace heaptap::scan
