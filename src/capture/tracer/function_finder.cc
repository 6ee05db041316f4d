#include "capture/tracer/function_finder.h"

#include <elf.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace heaptap::tracer {
namespace {

auto order_of(const FoundFunction& function) {
  return std::tuple(function.address, function.watch, function.function, function.api_call, function.form);
}

// exit and quick_exit are handled alike: once if both are at one address.
bool is_same(const FoundFunction& one, const FoundFunction& other) { return order_of(one) == order_of(other); }

// glibc's allocator is contiguous code: it begins with malloc, and calloc comes after all releasing functions. Empty:
// not found.
base::AddressRange glibc_allocator(const std::vector<FoundFunction>& functions) {
  constexpr uint64_t kMaxBytes = 64 << 10;
  base::AddressRange range;
  for (const FoundFunction& function : functions) {
    if (function.watch != Watch::kCall) continue;
    if (function.function == wire::Function::kMalloc) range.begin = function.address;
    if (function.function == wire::Function::kCalloc) range.end = function.address;
  }
  const bool is_one_piece = range.begin != 0 && range.begin < range.end && range.size() < kMaxBytes;
  return is_one_piece ? range : base::AddressRange{};
}

// The same system call by two names. (With 32 bits they differ.)
void drop_second_mmap(std::vector<FoundFunction>& functions) {
  std::erase_if(functions, [&](const FoundFunction& function) {
    return function.function == wire::Function::kMmap64 &&
           std::ranges::any_of(functions, [&](const FoundFunction& other) {
             return other.address == function.address && other.function == wire::Function::kMmap;
           });
  });
}

// Other names of an allocator's functions: aliases of functions in the list add nothing.
void drop_second_names(std::vector<FoundFunction>& functions) {
  std::erase_if(functions, [&](const FoundFunction& function) {
    return function.form != Form::kPlain && std::ranges::any_of(functions, [&](const FoundFunction& other) {
             return other.address == function.address && other.watch == Watch::kCall && other.form == Form::kPlain;
           });
  });
}

bool has_malloc(const std::vector<FoundFunction>& functions) {
  return std::ranges::any_of(functions, [](const FoundFunction& function) {
    return function.function == wire::Function::kMalloc && function.form == Form::kPlain;
  });
}

}  // namespace

bool FunctionFinder::is_in_code(uint64_t address) const {
  return std::ranges::any_of(object_.code, [&](const auto& range) { return range.contains(address); });
}

void FunctionFinder::search(const base::ByteSource& source, elf::ElfForm form, const elf::SymbolTable& table,
                            bool is_dynamic) {
  elf::search_symbols(source, form, table, names_.symbols(), [&](size_t name, const elf::ElfSymbol& symbol, uint64_t) {
    if (symbol.section != SHN_UNDEF && symbol.section != SHN_ABS) {
      note(names_[name], symbol, is_dynamic ? Source::kDynamicTable : Source::kWholeTable);
    }
  });
}

void FunctionFinder::note_told(const model::ToldFunction& told, base::AddressRange function) {
  const elf::ElfSymbol symbol{.name = 0,
                              .type = STT_FUNC,
                              .binding = static_cast<uint8_t>(told.is_local ? STB_LOCAL : STB_GLOBAL),
                              .section = 1,
                              .value = function.begin - object_.bias,
                              .size_bytes = function.size()};
  for (size_t i = 0; i < names_.symbols().size(); ++i) {
    if (names_.symbols()[i] == told.name && names_[i].may_be_told()) note(names_[i], symbol, Source::kTold);
  }
}

void FunctionFinder::note(const WatchedName& name, const elf::ElfSymbol& symbol, Source source) {
  const bool is_local = symbol.binding == STB_LOCAL && !name.is_operator();
  if (is_local && !is_program_) return;
  const uint64_t address = object_.bias + symbol.value;
  if (name.mark == WatchedName::Mark::kLoaderList || name.mark == WatchedName::Mark::kLoaderListPointer) {
    const bool is_pointer = name.mark == WatchedName::Mark::kLoaderListPointer;
    if (object_.range.contains(address)) (is_pointer ? found_.loader_list_pointer : found_.loader_list) = address;
    return;
  }
  if ((symbol.type != STT_FUNC && symbol.type != STT_GNU_IFUNC) || !is_in_code(address)) return;
  switch (name.mark) {
    case WatchedName::Mark::kChangeNotice:
      found_.change_notice = address;
      found_.is_loader |= source == Source::kDynamicTable;
      return;
    case WatchedName::Mark::kLibcStart:
      found_.is_libc = true;
      return;
    case WatchedName::Mark::kExceptions:
      found_.exceptions = {address, address + symbol.size_bytes};
      return;
    case WatchedName::Mark::kGlibc:
      is_glibc_ = true;
      return;
    default:
      break;
  }
  const bool is_resolver = symbol.type == STT_GNU_IFUNC;
  if (is_resolver && (name.watch != Watch::kCall || name.form != Form::kPlain)) return;
  if (is_local && name.form != Form::kPlain) return;
  (is_local ? local_ : found_.functions)
      .push_back({.address = address,
                  .size_bytes = symbol.size_bytes,
                  .watch = is_resolver ? Watch::kResolver : name.watch,
                  .function = name.function,
                  .api_call = name.api_call,
                  .form = name.form,
                  .is_told = source == Source::kTold});
}

ObjectSymbols FunctionFinder::take() {
  auto& functions = found_.functions;
  if (!found_.is_loader) functions.insert(functions.end(), local_.begin(), local_.end());
  found_.is_static = is_program_ && object_.interpreter.empty() && !found_.is_loader;
  // The C library's functions call its malloc, by that name.
  const bool is_librarys = is_glibc_ || (found_.is_libc && !found_.is_static);
  if (is_librarys || !has_malloc(functions))
    std::erase_if(functions, [](const FoundFunction& function) { return function.form != Form::kPlain; });
  found_.is_libc |= found_.is_static;
  if (!found_.is_libc) {
    std::erase_if(functions, [](const FoundFunction& function) {
      return function.watch != Watch::kCall && function.watch != Watch::kResolver && function.watch != Watch::kSpoken;
    });
  }
  // Of several symbols of a function the one with a size.
  std::ranges::sort(functions, [](const FoundFunction& one, const FoundFunction& other) {
    return std::pair(order_of(one), other.size_bytes) < std::pair(order_of(other), one.size_bytes);
  });
  const auto repeated = std::ranges::unique(functions, is_same);
  functions.erase(repeated.begin(), repeated.end());
  drop_second_mmap(functions);
  drop_second_names(functions);
  if (is_glibc_) found_.allocator = glibc_allocator(functions);
  return std::exchange(found_, {});
}

}  // namespace heaptap::tracer
