#include "analysis/symbols/module_file.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace heaptap::symbols {
namespace {

int find_no_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

// In the addresses of libdwfl. If the file's headers are mapped with the code, they are left out.
CodeRanges code_ranges_of(Elf* elf, uint64_t bias) {
  std::vector<base::AddressRange> ranges;
  GElf_Ehdr file_header;
  size_t count = 0;
  if (gelf_getehdr(elf, &file_header) == nullptr || elf_getphdrnum(elf, &count) != 0) return {};
  const uint64_t header_bytes = file_header.e_phoff + uint64_t{file_header.e_phentsize} * file_header.e_phnum;
  for (size_t i = 0; i < count && i < 0x10000; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uint64_t skipped = header.p_offset == 0 && header_bytes < header.p_filesz ? header_bytes : 0;
    ranges.push_back({header.p_vaddr + bias + skipped, header.p_vaddr + bias + header.p_memsz});
  }
  return CodeRanges(std::move(ranges));
}

struct LoadedRanges {
  CodeRanges memory;
  CodeRanges thread_local_segment;  // as offsets in it
};

LoadedRanges loaded_ranges_of(Elf* elf, uint64_t bias) {
  std::vector<base::AddressRange> memory;
  std::vector<base::AddressRange> thread_local_segment;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return {};
  for (size_t i = 0; i < count && i < 0x10000; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type == PT_LOAD) memory.push_back({header.p_vaddr + bias, header.p_vaddr + bias + header.p_memsz});
    if (header.p_type == PT_TLS) thread_local_segment.push_back({0, header.p_memsz});
  }
  return {CodeRanges(std::move(memory)), CodeRanges(std::move(thread_local_segment))};
}

// Without the version suffix of a dynamic symbol.
std::string_view unversioned(std::string_view name) { return name.substr(0, name.find('@', 1)); }

void set_symbol(model::Frame& frame, std::string_view name) {
  name = unversioned(name);
  if (name != frame.function) frame.symbol = name;
}

}  // namespace

SymbolLevel level_of(SymbolSource source) {
  switch (source) {
    case SymbolSource::kNoFile:
    case SymbolSource::kReplaced:
      break;
    case SymbolSource::kExportsOnly:
      return SymbolLevel::kExports;
    case SymbolSource::kNames:
      return SymbolLevel::kNames;
    case SymbolSource::kFull:
      return SymbolLevel::kLines;
  }
  return SymbolLevel::kNothing;
}

SymbolSource source_of(SymbolLevel level) {
  switch (level) {
    case SymbolLevel::kNothing:
      break;
    case SymbolLevel::kExports:
      return SymbolSource::kExportsOnly;
    case SymbolLevel::kNames:
      return SymbolSource::kNames;
    case SymbolLevel::kLines:
      return SymbolSource::kFull;
  }
  return SymbolSource::kNoFile;
}

std::unique_ptr<ModuleFile> ModuleFile::open(FileSearch& search, const std::string& path, const std::string& build_id) {
  std::unique_ptr<ModuleFile> module(new ModuleFile(search, path));
  FoundModule found = search.find_module(path, build_id);
  if (!found.file) {
    module->source_ = found.other ? SymbolSource::kReplaced : SymbolSource::kNoFile;
    if (found.other) module->other_ = *std::move(found.other);
    return module;
  }
  if (!module->load(*std::move(found.file))) module->source_ = SymbolSource::kNoFile;
  return module;
}

ModuleFile::~ModuleFile() {
  variables_.reset();
  dwarf_.reset();
  if (session_ != nullptr) dwfl_end(session_);
  if (alternate_ != nullptr) dwarf_end(alternate_);
}

bool ModuleFile::load(ElfFile file) {
  static char* const no_path = nullptr;
  static const Dwfl_Callbacks callbacks = {.find_elf = find_no_file,
                                           .find_debuginfo = find_debug_file,
                                           .section_address = dwfl_offline_section_address,
                                           .debuginfo_path = const_cast<char**>(&no_path)};
  build_id_ = file.build_id();
  bool is_complete = file.has_section(".symtab") || file.has_section(".gnu_debugdata");
  const std::string path = file.path();
  session_ = dwfl_begin(&callbacks);
  if (session_ == nullptr) return false;
  has_package_ = access((path + ".dwp").c_str(), F_OK) == 0;
  is_unreadable_ = file.has_zstd();
  base::UniqueFd descriptor = file.release_descriptor();
  unpacked_main_ = is_unreadable_ ? UnpackedDebugFile::create_readable(descriptor.get()) : nullptr;
  if (unpacked_main_ != nullptr) {
    is_unreadable_ = false;
    if (base::UniqueFd readable = unpacked_main_->new_descriptor()) descriptor = std::move(readable);
  }
  lazy_ = unpacked_main_.get();
  dwfl_report_begin(session_);
  module_ = dwfl_report_elf(session_, "module", path.c_str(), descriptor.get(), 0, true);
  if (module_ != nullptr) descriptor.release();  // libdwfl owns it
  dwfl_report_end(session_, nullptr, nullptr);
  if (module_ == nullptr) return false;
  void** user = nullptr;
  dwfl_module_info(module_, &user, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *user = this;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  if (elf == nullptr) return false;
  main_bias_ = bias;
  code_ = code_ranges_of(elf, bias);
  load_dwarf();
  dwfl_module_getsymtab(module_);  // may find the separate debug file, which the DWARF didn't need
  is_complete = is_complete || is_debug_file_complete_;
  symbols_ = SymbolTable(module_, SymbolKind::kCode, code_, is_complete);
  source_ = dwarf_ != nullptr ? SymbolSource::kFull : is_complete ? SymbolSource::kNames : SymbolSource::kExportsOnly;
  return true;
}

void ModuleFile::load_dwarf() {
  Dwarf_Addr bias = 0;
  Dwarf* dwarf = dwfl_module_getdwarf(module_, &bias);
  if (dwarf == nullptr) return;
  dwarf_bias_ = bias;
  if (!attach_alternate()) return;
  auto index = std::make_unique<DwarfIndex>(dwarf, code_.moved_down(bias), lazy_, search_.opens_by_name());
  if (!index->empty()) dwarf_ = std::move(index);
}

// Data that dwz moved into a file shared by several. libdw looks for it beside the file and in /usr/lib/debug only.
// False: not found; libdw must not look there itself.
bool ModuleFile::attach_alternate() {
  Dwarf_Addr bias = 0;
  Dwarf* dwarf = dwfl_module_getdwarf(module_, &bias);
  const char* name = nullptr;
  const void* build_id = nullptr;
  const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &build_id);
  if (size <= 0 || (search_.opens_by_name() && dwarf_getalt(dwarf) != nullptr)) return true;
  auto file = search_.find_by_build_id(std::string(static_cast<const char*>(build_id), static_cast<size_t>(size)));
  if (!file) return search_.opens_by_name();
  if (file->has_zstd()) {
    unpacked_alternate_ = UnpackedDebugFile::create_readable(file->descriptor());
    if (unpacked_alternate_ == nullptr) return search_.opens_by_name();
    unpacked_alternate_->need_all();
    file = ElfFile::adopt(unpacked_alternate_->new_descriptor(), file->path());
    if (!file) return search_.opens_by_name();
  }
  alternate_file_ = std::make_unique<ElfFile>(*std::move(file));
  alternate_ = dwarf_begin_elf(alternate_file_->elf(), DWARF_C_READ, nullptr);
  if (alternate_ == nullptr) return search_.opens_by_name();
  dwarf_setalt(dwarf, alternate_);
  return true;
}

// libdwfl's callback for the separate debug file, and (with other arguments) for the alternate one, which
// attach_alternate finds. The returned descriptor is owned by libdwfl.
int ModuleFile::find_debug_file(Dwfl_Module*, void** user, const char*, Dwarf_Addr, const char* file_name,
                                const char* link_name, GElf_Word link_crc, char** found_name) {
  auto& self = *static_cast<ModuleFile*>(*user);
  if (std::exchange(self.searched_debug_file_, true) || file_name == nullptr) return -1;
  FileSearch::DebugRequest request{
      .path = file_name, .recorded_path = self.recorded_path_, .build_id = self.build_id_, .link = std::nullopt};
  if (link_name != nullptr) request.link = DebugLink{.name = link_name, .crc = link_crc};
  auto file = self.search_.find_debug_file(request);
  if (!file || file->path() == request.path) return -1;
  self.is_debug_file_complete_ = file->has_section(".symtab");
  *found_name = strdup(file->path().c_str());
  self.is_unreadable_ = file->has_zstd();
  self.unpacked_ = UnpackedDebugFile::create(file->descriptor());
  self.lazy_ = self.unpacked_.get();
  if (self.unpacked_ != nullptr) {
    self.is_unreadable_ = false;
    if (base::UniqueFd descriptor = self.unpacked_->new_descriptor()) return descriptor.release();
    self.lazy_ = nullptr;
    self.unpacked_.reset();
  }
  return file->release_descriptor().release();
}

std::string ModuleFile::missing_part(uint64_t address) {
  return dwarf_ != nullptr ? dwarf_->missing_part(address + main_bias_ - dwarf_bias_) : std::string();
}

std::vector<model::Frame> ModuleFile::frames_at(uint64_t address) {
  std::vector<model::Frame> frames;
  const uint64_t moved = address + main_bias_;
  std::vector<SourceFrame> found;
  if (dwarf_ != nullptr) dwarf_->append_frames(moved - dwarf_bias_, found);
  for (const SourceFrame& each : found) {
    model::Frame frame;
    if (each.function != nullptr) {
      frame.function = each.function->text;
      set_symbol(frame, each.function->linkage);
    }
    if (each.position.file != nullptr) frame.file = *each.position.file;
    frame.line = each.position.line;
    frame.column = each.position.column;
    frame.inlined = each.inlined;
    if (!each.inlined) {
      use_full_name(frame, each.function, moved);
      note_aliases(frame, moved);
    }
    frames.push_back(std::move(frame));
  }
  if (frames.empty()) {
    frames.emplace_back();
    if (const char* name = symbols_.find(moved)) {
      frames.back().function = demangle(name);
      set_symbol(frames.back(), name);
      note_aliases(frames.back(), moved);
    }
  }
  return frames;
}

void ModuleFile::load_variables() {
  if (std::exchange(has_variables_, true) || module_ == nullptr) return;
  GElf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  if (elf == nullptr) return;
  const LoadedRanges loaded = loaded_ranges_of(elf, bias);
  data_symbols_[0] = SymbolTable(module_, SymbolKind::kData, loaded.memory, false);
  data_symbols_[1] = SymbolTable(module_, SymbolKind::kThreadLocal, loaded.thread_local_segment, false);
  Dwarf_Addr dwarf_bias = 0;
  if (lazy_ != nullptr) lazy_->need_all();
  if (dwarf_ != nullptr) {
    variables_ = std::make_unique<VariableIndex>(dwfl_module_getdwarf(module_, &dwarf_bias), search_.opens_by_name());
  }
}

const Variable* ModuleFile::variable_at(uint64_t address, bool is_thread_local) {
  load_variables();
  auto variable = find_variable(address, is_thread_local);
  if (!variable) return nullptr;
  const uint64_t begin = variable->begin;
  return &known_variables_[is_thread_local].try_emplace(begin, *std::move(variable)).first->second;
}

std::optional<Variable> ModuleFile::find_variable(uint64_t address, bool is_thread_local) {
  const uint64_t bias = is_thread_local ? 0 : main_bias_;
  const uint64_t dwarf_bias = is_thread_local ? 0 : main_bias_ - dwarf_bias_;  // difference to DWARF's addresses
  const Symbol* symbol = data_symbols_[is_thread_local].find_symbol(address + bias);
  std::optional<Variable> described;
  if (variables_ != nullptr) {
    // For a symbol, the variable that begins at it, not one inside it.
    const uint64_t wanted = symbol != nullptr ? symbol->begin - bias : address;
    described = variables_->find(wanted + dwarf_bias, is_thread_local);
    if (described) described->begin -= dwarf_bias;
  }
  if (symbol == nullptr) return described;
  Variable variable;
  variable.name = demangle(symbol->name);
  variable.begin = symbol->begin - bias;
  variable.size_bytes = symbol->size_bytes;
  if (!described || described->begin != variable.begin) return variable;
  variable.file = std::move(described->file);
  variable.line = described->line;
  // "cache.0", of a C function's static variable.
  if (variable.name.starts_with(described->name + ".")) variable.name = std::move(described->name);
  return variable;
}

// For a function with several symbols. C libraries have internal and public names: DWARF's __GI___strdup is strdup for
// users.
void ModuleFile::note_aliases(model::Frame& frame, uint64_t address) const {
  const Symbol* const symbol = symbols_.find_symbol(address);
  if (symbol == nullptr) return;
  const std::span<const Symbol> all = symbols_.same_place(*symbol);
  if (all.size() == 1) return;
  const std::string_view own = frame.symbol.empty() ? frame.function : frame.symbol;
  const bool is_one = std::ranges::any_of(all, [own](const Symbol& each) { return unversioned(each.name) == own; });
  const std::string_view shown = unversioned(symbol->name);
  if (is_one && own.starts_with('_') && !own.starts_with("_Z") && !shown.starts_with('_')) {
    frame.function = shown;
    frame.symbol.clear();
  }
  constexpr size_t kMaxBytes = 1024;
  const std::string_view taken = frame.symbol.empty() ? frame.function : frame.symbol;
  for (const Symbol& each : all) {
    const std::string_view name = unversioned(each.name);
    if (name == taken || name.find(' ') != name.npos || frame.aliases.size() + name.size() > kMaxBytes) continue;
    if (!frame.aliases.empty()) frame.aliases += ' ';
    frame.aliases += name;
  }
}

// The symbol of a function whose DWARF has only the plain name, as for local functions, or no name.
void ModuleFile::use_full_name(model::Frame& frame, const FunctionName* known, uint64_t address) const {
  if (known != nullptr && known->is_complete) return;
  const char* name = symbols_.find(address);
  if (name == nullptr) return;
  std::string full = demangle(name);
  if (frame.function.empty() || full.find(known->plain) != std::string::npos) {
    frame.function = std::move(full);
    set_symbol(frame, name);
  }
}

}  // namespace heaptap::symbols
