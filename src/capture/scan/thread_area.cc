#include "capture/scan/thread_area.h"

#include <elf.h>

#include <algorithm>

#include "capture/elf/dynamic_section.h"
#include "capture/elf/loader_list.h"
#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

constexpr uint64_t kMaxStaticBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxModules = 65536;
constexpr uint64_t kMaxDynamicBytes = 4096;

// The loader enters its list in the program's dynamic section.
std::vector<elf::ListedObject> list_loaded_objects(const process::ProcessMemory& memory,
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
std::optional<ThreadLocalModule> read_numbering(const process::ProcessMemory& memory, uint64_t link_map,
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

}  // namespace

std::optional<base::AddressRange> find_thread_area(const process::ProcessMemory& memory, const arch::ThreadFacts& facts,
                                                   uint64_t thread_pointer) {
  const auto words = memory.words({thread_pointer, thread_pointer + facts.glibc_control_block_bytes});
  constexpr uint64_t kLargestStack = uint64_t{1} << 40;
  const uint64_t least_behind = is_musl_thread(memory, thread_pointer) ? 64 : 256;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const base::AddressRange area{words[i], words[i] + words[i + 1]};
    // glibc: stackblock, stackblock_size; musl: map_base, map_size.
    const bool fits = words[i + 1] <= kLargestStack && area.begin % 16 == 0 && area.begin < thread_pointer &&
                      area.end > thread_pointer + least_behind && area.end <= thread_pointer + 65536;
    if (!fits || thread_pointer - area.begin < base::page_bytes()) continue;
    if (process::find_mapping(memory.map(), area.begin) != nullptr) return area;
  }
  return std::nullopt;
}

bool is_musl_thread(const process::ProcessMemory& memory, uint64_t thread_pointer) {
  const auto points_to_itself = [&](uint64_t address) {
    return address >= base::page_bytes() && memory.word(address) == address;
  };
  const unsigned word = memory.word_bytes();
  const auto head = memory.words({thread_pointer, thread_pointer + uint64_t{4} * word});  // self, table, previous, next
  return head.size() == 4 && head[0] == thread_pointer && points_to_itself(head[2]) && points_to_itself(head[3]);
}

std::optional<uint64_t> find_control_block(process::ProcessMemory& memory, const process::Mapping& mapping) {
  const uint64_t end_bytes = 2 * base::page_bytes();
  constexpr uint64_t kLargestStack = uint64_t{64} << 20;
  constexpr uint64_t kMaxSearched = uint64_t{1} << 20;
  if (mapping.range.size() < 2 * end_bytes) return std::nullopt;
  const auto find_in = [&](base::AddressRange range) -> std::optional<uint64_t> {
    const auto words = memory.words(range);
    for (size_t i = 0; i + 2 < words.size(); ++i) {
      const uint64_t address = range.begin + i * memory.word_bytes();
      if (words[i] == address && words[i + 2] == address) return address;
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

uint64_t thread_local_table_memory(const process::ProcessMemory& memory, uint64_t control_block) {
  if (is_musl_thread(memory, control_block)) return 0;
  const uint64_t entries = memory.word(control_block + memory.word_bytes()).value_or(0);
  const uint64_t head = uint64_t{2} * memory.word_bytes();  // how many entries there are
  return entries < base::page_bytes() ? 0 : entries - head;
}

bool waits_for_join(const process::ProcessMemory& memory, const arch::ThreadFacts& facts, uint64_t control_block) {
  if (is_musl_thread(memory, control_block)) return true;  // the others' memory is unmapped
  // glibc: the thread's number becomes 0 at its end, and -1 when it was joined. A detached thread is joined to itself.
  const uint64_t place = control_block + facts.glibc_thread_number;
  const auto number = memory.value<int32_t>(place);
  if (!number || *number != 0) return false;
  const auto words = memory.words({place, control_block + facts.glibc_control_block_bytes});
  return std::ranges::find(words, control_block) == words.end();
}

ThreadLocalModules find_thread_local_modules(const process::ProcessMemory& memory,
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

ThreadLocalTable read_thread_local_table(const process::ProcessMemory& memory, uint64_t thread_pointer,
                                         const ThreadLocalModules& modules) {
  const unsigned word = memory.word_bytes();
  ThreadLocalTable table;
  table.static_begin = thread_pointer;
  const uint64_t entries = memory.word(thread_pointer + word).value_or(0);
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
    const uint64_t static_begin = known && module->static_offset != 0 ? thread_pointer - module->static_offset : 0;
    // musl plans such a place for later modules as well, for which existing threads have a separate block.
    const bool has_static_place = static_begin != 0 && (!modules.musl || begin == static_begin);
    if (has_static_place) begin = static_begin;
    const uint64_t not_yet = word == sizeof(uint32_t) ? 0xffffffff : ~uint64_t{0};  // glibc: allocated at first use
    constexpr uint64_t kHighest = uint64_t{1} << 47;
    if (begin < base::page_bytes() || begin >= kHighest || begin == not_yet) continue;
    // In a static program the offset of the one module isn't known.
    const bool has_place = modules.musl ? known && (has_static_place || module->static_offset == 0)
                                        : !known || has_static_place || modules.modules.size() == 1;
    const bool is_static = has_place && begin < thread_pointer && thread_pointer - begin < kMaxStaticBytes;
    const uint64_t allocated = modules.musl ? 0 : words[number * 2 + 1];
    table.blocks.push_back({begin, known ? module->bytes : 0, allocated, known ? module->bias : 0});
    if (is_static && allocated == 0) table.static_begin = std::min(table.static_begin, begin);
  }
  return table;
}

}  // namespace heaptap::scan
