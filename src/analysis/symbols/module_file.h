// One module's file and all its symbol sources. Private to symbols/.
#pragma once
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/symbols/code_ranges.h"
#include "analysis/symbols/dwarf_index.h"
#include "analysis/symbols/file_search.h"
#include "analysis/symbols/name_source.h"
#include "analysis/symbols/resolver.h"
#include "analysis/symbols/symbol_table.h"
#include "analysis/symbols/unpacked_debug_file.h"
#include "analysis/symbols/variable_index.h"

namespace heaptap::symbols {

// Best symbol source of a module's file.
enum class SymbolSource {
  kNoFile,       // not found
  kReplaced,     // only a file of that name with another build-id
  kExportsOnly,  // .dynsym: stripped
  kNames,        // .symtab, no DWARF
  kFull,         // DWARF
};

SymbolLevel level_of(SymbolSource source);
SymbolSource source_of(SymbolLevel level);

class ModuleFile {
 public:
  // Opens the file and its debug file. Never fails: see source().
  static std::unique_ptr<ModuleFile> open(FileSearch& search, const std::string& path, const std::string& build_id);
  ~ModuleFile();
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  // Frames of the instruction at a link-time address, innermost first; at least one. Only function, file, line and inlined are set.
  std::vector<model::Frame> frames_at(uint64_t address);

  // Variable at a link-time address, or at an offset in the thread-local segment; null if none is known.
  const Variable* variable_at(uint64_t address, bool is_thread_local);

  // Inflates part of the debug information ahead of need, for a file from which many frames are expected. False: all is inflated.
  bool unpack_more() { return lazy_ != nullptr && lazy_->unpack_more(); }

  [[nodiscard]] SymbolSource source() const { return source_; }
  // Debug information is present, in an unsupported compression.
  [[nodiscard]] bool is_unreadable() const { return is_unreadable_; }
  // Missing split file (.dwo) with more about the code at a link-time address; empty: none.
  std::string missing_part(uint64_t address);
  // There is a .dwp beside the module, though parts are missing from it.
  [[nodiscard]] bool has_package() const { return has_package_; }
  // For kReplaced: the file in its place.
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
  std::unique_ptr<UnpackedDebugFile> unpacked_main_;  // the file itself if libdw can't read it
  std::unique_ptr<UnpackedDebugFile> unpacked_;       // the separate debug file if that saves time
  UnpackedDebugFile* lazy_ = nullptr;                 // that of these with the DWARF
  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Dwarf* alternate_ = nullptr;
  std::unique_ptr<UnpackedDebugFile> unpacked_alternate_;  // if libdw can't read it
  std::unique_ptr<ElfFile> alternate_file_;
  uint64_t main_bias_ = 0;   // libdwfl's address minus link-time address of the file
  uint64_t dwarf_bias_ = 0;  // the same for the file with the DWARF
  CodeRanges code_;
  SymbolTable symbols_;
  std::unique_ptr<DwarfIndex> dwarf_;
  bool has_variables_ = false;   // read on first request
  SymbolTable data_symbols_[2];  // of data, thread-local
  std::unique_ptr<VariableIndex> variables_;
  // By start address: of data, thread-local.
  std::unordered_map<uint64_t, Variable> known_variables_[2];
};

}  // namespace heaptap::symbols
