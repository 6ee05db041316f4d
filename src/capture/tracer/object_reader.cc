#include "capture/tracer/object_reader.h"

#include <elf.h>

#include <algorithm>

#include "capture/elf/debug_file.h"
#include "capture/elf/dynamic_section.h"
#include "capture/tracer/function_starts.h"
#include "common/wire/log.h"

namespace heaptap::tracer {
namespace {

bool has_content(const elf::ElfSection* section) {
  return section != nullptr && section->type != SHT_NOBITS && section->bytes != 0;
}

// An ELF file of the target's class, or none.
struct FileView {
  int descriptor;
  elf::FileBytes bytes;
  std::vector<elf::ElfSection> sections;

  FileView(const base::UniqueFd& file, elf::ElfForm form) : descriptor(file.get()), bytes(descriptor) {
    const auto elf = file ? elf::ElfHeaders::read(bytes) : std::nullopt;
    if (elf && elf->form() == form) sections = elf->read_sections(bytes);
  }

  [[nodiscard]] const elf::ElfSection* plain_frames() const {
    const elf::ElfSection* section = elf::find_section(sections, ".debug_frame");
    return has_content(section) && (section->flags & SHF_COMPRESSED) == 0 ? section : nullptr;
  }
  [[nodiscard]] bool has_compressed_frames() const {
    const elf::ElfSection* section = elf::find_section(sections, ".debug_frame");
    return elf::find_section(sections, ".zdebug_frame") != nullptr ||
           (has_content(section) && (section->flags & SHF_COMPRESSED) != 0);
  }
};

// Result of the request to another machine; the numbers of model::NoteKind::kStaticAndStripped.
enum class Told : uint8_t { kNotAsked, kNothing, kNotProven };

class ObjectReader {
 public:
  ObjectReader(const base::ByteSource& memory, elf::ElfForm form, const ObjectQuestion& question)
      : memory_(memory),
        form_(form),
        question_(question),
        mapped_(question.mapped),
        finder_(question.names, question.mapped, question.is_program) {
    take_facts();
  }

  ReadObject read();

 private:
  void take_facts();
  void read_file();
  void read_debug_file(const FileView& view);
  void note_unwind_table(const FileView& view);
  bool note_frames(const FileView& view);
  void believe_told();
  void tell_what_is_missing();
  void note(model::NoteKind kind, std::vector<uint64_t> numbers = {}, std::string name = {}) {
    result_.notes.push_back({kind, std::move(numbers), object_.path, std::move(name)});
  }

  const base::ByteSource& memory_;
  elf::ElfForm form_;
  const ObjectQuestion& question_;
  const elf::MappedObject& mapped_;
  FunctionFinder finder_;
  ReadObject result_;
  LoadedObject& object_ = result_.object;
  bool has_all_symbols_ = false;
  Told told_ = Told::kNotAsked;
  bool has_compressed_frames_ = false;
};

void ObjectReader::take_facts() {
  object_.path = question_.path;
  object_.bias = mapped_.bias;
  object_.start = mapped_.range.begin;
  object_.end = mapped_.range.end;
  object_.build_id_bytes = static_cast<uint8_t>(std::min(mapped_.build_id.size(), object_.build_id.size()));
  std::copy_n(mapped_.build_id.begin(), object_.build_id_bytes, object_.build_id.begin());
  object_.code = mapped_.code;
  object_.is_go = mapped_.is_go;
  object_.unwind_header = mapped_.unwind_header;
}

void ObjectReader::note_unwind_table(const FileView& view) {
  const elf::ElfSection* section = elf::find_section(view.sections, ".eh_frame");
  if (!has_content(section) || (section->flags & SHF_ALLOC) == 0) return;
  const uint64_t begin = mapped_.bias + section->address;
  if (!mapped_.range.contains(begin) || section->bytes > mapped_.range.end - begin) return;
  object_.unwind_table = begin;
  object_.unwind_table_bytes = section->bytes;
}

// Go's .debug_frame doesn't describe switches of stacks.
bool ObjectReader::note_frames(const FileView& view) {
  if (object_.is_go) return false;
  has_compressed_frames_ |= view.has_compressed_frames();
  const elf::ElfSection* section = view.plain_frames();
  if (section == nullptr) return false;
  object_.frame_file = view.descriptor;
  object_.frame_offset = section->offset;
  object_.frame_bytes = section->bytes;
  return true;
}

// Symbols by the file's sections if it has any; else the loader's, from memory.
void ObjectReader::read_file() {
  elf::ObjectFile opened = elf::open_object_file_bounded(question_.thread, mapped_);
  result_.file = std::move(opened.file);
  if (!result_.file) {
    note(model::NoteKind::kObjectNotReadable, {static_cast<uint64_t>(opened.error)});
  }
  const FileView view(result_.file, form_);
  const elf::SymbolTable dynamic = elf::table_in_file(form_, view.sections, SHT_DYNSYM);
  if (dynamic.count != 0) {
    finder_.search(view.bytes, form_, dynamic, true);
  } else if (mapped_.dynamic != 0) {
    const elf::DynamicSection section(memory_, form_, mapped_.dynamic, mapped_.dynamic_bytes, mapped_.bias,
                                      mapped_.range);
    finder_.search(memory_, form_, section.symbols(memory_), true);
  }
  const elf::SymbolTable full = elf::table_in_file(form_, view.sections, SHT_SYMTAB);
  finder_.search(view.bytes, form_, full, false);
  has_all_symbols_ = full.count != 0;
  note_unwind_table(view);
  const bool has_frames = note_frames(view);
  if (!has_frames || !has_all_symbols_) read_debug_file(view);
  believe_told();
  if (!has_frames) result_.file.reset();
}

void ObjectReader::read_debug_file(const FileView& view) {
  const elf::DebugLink link = elf::read_debug_link(view.bytes, form_, view.sections);
  base::UniqueFd file = elf::open_debug_file_bounded(question_.thread, object_.path, mapped_.build_id, link);
  const FileView debug(file, form_);
  if (!has_all_symbols_) {
    const elf::SymbolTable full = elf::table_in_file(form_, debug.sections, SHT_SYMTAB);
    finder_.search(debug.bytes, form_, full, false);
    has_all_symbols_ = full.count != 0;
  }
  if (object_.frame_bytes == 0 && note_frames(debug)) result_.debug_file = std::move(file);
}

// For a static program. The other side may lie: breakpoints are only inserted where a function certainly begins.
void ObjectReader::believe_told() {
  const bool is_static = question_.is_program && mapped_.interpreter.empty() && !finder_.is_loader();
  if (has_all_symbols_ || !is_static || question_.told == nullptr) return;
  told_ = Told::kNothing;
  const auto told = question_.told->find(std::string(mapped_.build_id.begin(), mapped_.build_id.end()));
  if (mapped_.build_id.empty() || told == question_.told->end() || told->second.empty()) return;
  told_ = Told::kNotProven;
  FunctionStarts starts(memory_, question_.architecture, object_);
  for (const model::ToldFunction& each : told->second) {
    const base::AddressRange function = starts.function_from(mapped_.bias + each.address);
    if (function.size() != 0) finder_.note_told(each, function);
  }
}

void ObjectReader::tell_what_is_missing() {
  if (object_.unwind_header == 0 && object_.unwind_table_bytes == 0 && object_.frame_bytes == 0) {
    object_.flags |= wire::kModuleHasNoCfi;
    if (has_compressed_frames_) {
      note(model::NoteKind::kUnwindTableCompressed);
    }
  }
  if (!result_.symbols.is_static || !object_.functions.empty()) return;
  if (has_all_symbols_) {
    note(model::NoteKind::kStaticWithoutFunctions);
  } else {
    const auto told = static_cast<uint64_t>(told_);
    note(model::NoteKind::kStaticAndStripped, {told},
         mapped_.build_id.empty() ? "" : elf::debug_path_of(mapped_.build_id));
  }
}

ReadObject ObjectReader::read() {
  if (mapped_.is_vdso) {
    object_.flags |= wire::kModuleIsVdso;
  } else {
    read_file();
    result_.symbols = finder_.take();
    object_.is_libc = result_.symbols.is_libc;
    object_.allocator = result_.symbols.allocator;
    object_.exceptions = result_.symbols.exceptions;
    object_.functions = std::move(result_.symbols.functions);
  }
  tell_what_is_missing();
  return std::move(result_);
}

}  // namespace

ReadObject read_object(const base::ByteSource& memory, elf::ElfForm form, const ObjectQuestion& question) {
  return ObjectReader(memory, form, question).read();
}

}  // namespace heaptap::tracer
