#include "capture/stream/past_hooks.h"

#include <elf.h>

#include <span>
#include <string_view>
#include <utility>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "capture/tracer/allocator_names.h"
#include "common/base/served_files.h"
#include "common/base/small_file.h"
#include "common/wire/handshake.h"

namespace heaptap::stream {
namespace {

constexpr std::string_view kInnerNames[] = {"__libc_malloc",   "__libc_free",   "__libc_calloc", "__libc_realloc",
                                            "__libc_memalign", "__libc_valloc", "__libc_pvalloc"};
constexpr std::string_view kMallocName = "malloc";
constexpr std::string_view kLibcStartName = "__libc_start_main";  // only a C library defines it

// Symbols to find in each object: the inner names, malloc, the sign of a C library, an allocator's other names.
constexpr size_t kMallocPlace = std::size(kInnerNames);
constexpr size_t kLibcPlace = kMallocPlace + 1;
constexpr size_t kFirstOther = kLibcPlace + 1;
constexpr size_t kWantedNames = kFirstOther + std::size(tracer::kAllocatorNames);

std::span<const std::string_view> wanted_names() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> made(std::begin(kInnerNames), std::end(kInnerNames));
    made.push_back(kMallocName);
    made.push_back(kLibcStartName);
    for (const tracer::AllocatorName& name : tracer::kAllocatorNames) made.emplace_back(name.symbol);
    return made;
  }();
  return all;
}

struct NamesOfObject {
  std::vector<bool> needed = std::vector<bool>(kWantedNames);
  std::vector<bool> defined = std::vector<bool>(kWantedNames);
};

NamesOfObject names_of_object(pid_t process, const std::string& path) {
  NamesOfObject found;
  const base::UniqueFd file = elf::open_as_seen_by(process, path);
  if (!file) return found;
  const elf::FileBytes bytes(file.get());
  const auto elf = elf::ElfHeaders::read(bytes);
  if (!elf) return found;
  const elf::SymbolTable table = elf::table_in_file(elf->form(), elf->read_sections(bytes), SHT_DYNSYM);
  elf::search_symbols(bytes, elf->form(), table, wanted_names(),
                      [&](size_t name, const elf::ElfSymbol& symbol, uint64_t) {
                        (symbol.section == SHN_UNDEF ? found.needed : found.defined)[name] = true;
                      });
  return found;
}

}  // namespace

PastHooks::PastHooks() : needed_(kWantedNames), defined_(kWantedNames) {}

void PastHooks::add(pid_t process, const std::string& path) {
  const bool is_program = !std::exchange(has_program_, true);
  if (base::file_name_of(path) == wire::kAgentFileName) return;  // the hooks themselves
  const auto look = [process, path] { return names_of_object(process, path); };
  const base::FilePlace place{.viewer = process, .path = path};
  const auto found = base::ServedFiles::of_process().look<NamesOfObject>(place, look).value_or(NamesOfObject());
  for (size_t i = 0; i < kWantedNames; ++i) {
    if (found.needed[i]) needed_[i] = true;
    if (found.needed[i] && i < kMallocPlace && inner_caller_.empty()) inner_caller_ = path;
  }
  if (decided_ == Allocator::kNotSeen && found.defined[kMallocPlace]) decide_allocator(path, is_program, found.defined);
  list_called();
}

void PastHooks::decide_allocator(const std::string& path, bool is_program, const std::vector<bool>& defined) {
  decided_ = is_program || defined[kLibcPlace] ? Allocator::kOther : Allocator::kLibrary;
  if (decided_ != Allocator::kLibrary) return;
  allocator_ = path;
  defined_ = defined;
}

void PastHooks::list_called() {
  called_.clear();
  for (size_t i = kFirstOther; i < kWantedNames; ++i) {
    if (needed_[i] && defined_[i]) called_.emplace_back(wanted_names()[i]);
  }
}

}  // namespace heaptap::stream
