// The file of one module, with all that is known of its symbols. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/code_ranges.h"
#include "symbols/dwarf_index.h"
#include "symbols/file_search.h"
#include "symbols/name_source.h"
#include "symbols/resolver.h"
#include "symbols/symbol_table.h"
#include "symbols/unpacked_debug_file.h"
#include "symbols/variable_index.h"

namespace heaptap::symbols {

// What a module's file gives.
enum class SymbolSource {
  kNoFile,       // not found
  kReplaced,     // found one of that name, with another build-id
  kExportsOnly,  // .dynsym: stripped
  kNames,        // .symtab, no DWARF
  kFull,         // DWARF
};

SymbolLevel level_of(SymbolSource source);
SymbolSource source_of(SymbolLevel level);

class ModuleFile {
 public:
  // Opens it and finds its debug file. Never fails: source() says what came of it.
  static std::unique_ptr<ModuleFile> open(FileSearch& search, const std::string& path, const std::string& build_id);
  ~ModuleFile();
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  // The frames of the instruction at a link-time address, innermost first; at least one. Only function, file, line
  // and inlined are set.
  std::vector<model::Frame> frames_at(uint64_t address);

  // The variable around a link-time address, or around an offset in the thread-local segment; null where none is known.
  const Variable* variable_at(uint64_t address, bool is_thread_local);

  // Does a part of what comes when a frame needs it otherwise: for a file of which many will. False: there is no more.
  bool unpack_more() { return lazy_ != nullptr && lazy_->unpack_more(); }

  [[nodiscard]] SymbolSource source() const { return source_; }
  // Its debug information is there, compressed in a way that nothing here reads.
  [[nodiscard]] bool is_unreadable() const { return is_unreadable_; }
  // The file that has more of the code at a link-time address, and isn't found (.dwo); empty: there is none.
  std::string missing_part(uint64_t address);
  // A .dwp is beside the module, for all that has its missing parts.
  [[nodiscard]] bool has_package() const { return has_package_; }
  // Of kReplaced: which one is in its place.
  [[nodiscard]] const OtherFile& other() const { return other_; }

 private:
  ModuleFile(FileSearch& search, std::string recorded_path)
      : search_(search), recorded_path_(std::move(recorded_path)) {}
  static int find_debug_file(Dwfl_Module*, void** user, const char*, Dwarf_Addr, const char* file_name,
                             const char* link_name, GElf_Word link_crc, char** found_name);
  bool load(ElfFile file);
  void load_dwarf();
  bool attach_alternate();
  void load_variables();
  std::optional<Variable> find_variable(uint64_t address, bool is_thread_local);
  void use_full_name(model::Frame& frame, const FunctionName* known, uint64_t address) const;
  void note_aliases(model::Frame& frame, uint64_t address) const;

  FileSearch& search_;
  std::string recorded_path_;
  std::string build_id_;
  SymbolSource source_ = SymbolSource::kNoFile;
  OtherFile other_;
  bool searched_debug_file_ = false;
  bool is_debug_file_complete_ = false;  // the separate debug file has a .symtab
  bool is_unreadable_ = false;
  bool has_package_ = false;
  std::unique_ptr<UnpackedDebugFile> unpacked_main_;  // the file itself, where libdw can't read it
  std::unique_ptr<UnpackedDebugFile> unpacked_;       // the separate debug file, where that pays
  UnpackedDebugFile* lazy_ = nullptr;                 // of these the one with the DWARF
  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf* alternate_ = nullptr;
  std::unique_ptr<UnpackedDebugFile> unpacked_alternate_;  // where libdw can't read it
  std::unique_ptr<ElfFile> alternate_file_;
  uint64_t main_bias_ = 0;   // libdwfl's address minus link-time address of the file
  uint64_t dwarf_bias_ = 0;  // the same for the file that has the DWARF
  CodeRanges code_;
  SymbolTable symbols_;
  std::unique_ptr<DwarfIndex> dwarf_;
  bool has_variables_ = false;   // they are read when the first one is asked for
  SymbolTable data_symbols_[2];  // of data, thread-local
  std::unique_ptr<VariableIndex> variables_;
  // By where they begin: of data, thread-local.
  std::unordered_map<uint64_t, Variable> known_variables_[2];
};

}  // namespace heaptap::symbols
