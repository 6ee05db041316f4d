// Symbols of an object for the tracer: functions to watch, places of the loader, whether it is a C library. From the
// object's file and its separate debug file, or from memory where there is no file.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/elf/mapped_object.h"
#include "capture/elf/symbol_search.h"
#include "capture/tracer/loaded_objects.h"
#include "capture/tracer/watched_names.h"
#include "common/base/byte_source.h"

namespace heaptap::tracer {

// Addresses in memory; 0: not found.
struct ObjectSymbols {
  std::vector<FoundFunction> functions;  // of all names, unordered, with repetitions
  uint64_t change_notice = 0;
  uint64_t loader_list = 0;
  uint64_t loader_list_pointer = 0;
  bool is_libc = false;
  base::AddressRange exceptions;  // LoadedObject::exceptions
  base::AddressRange allocator;   // LoadedObject::allocator
  bool is_loader = false;         // a dynamic loader: exports the place where it reports changes
  bool is_static = false;         // a program without a loader
};

class FunctionFinder {
 public:
  // For a program, local functions count as well.
  FunctionFinder(const WatchedNames& names, const elf::MappedObject& object, bool is_program)
      : names_(names), object_(object), is_program_(is_program) {}

  void search(const base::ByteSource& source, elf::ElfForm form, const elf::SymbolTable& table, bool is_dynamic);
  // Another machine reports this function's name; that a function begins there is proven. Ignored unless WatchedName::may_be_told().
  void note_told(const model::ToldFunction& told, base::AddressRange function);
  // A dynamic loader, as far as known yet.
  [[nodiscard]] bool is_loader() const { return found_.is_loader; }
  // Each function once per address, ascending.
  [[nodiscard]] ObjectSymbols take();

 private:
  enum class Source : uint8_t { kDynamicTable, kWholeTable, kTold };
  void note(const WatchedName& name, const elf::ElfSymbol& symbol, Source source);
  [[nodiscard]] bool is_in_code(uint64_t address) const;

  const WatchedNames& names_;
  const elf::MappedObject& object_;
  bool is_program_;
  ObjectSymbols found_;
  bool is_glibc_ = false;
  std::vector<FoundFunction> local_;  // that count in a program only
};

}  // namespace heaptap::tracer
