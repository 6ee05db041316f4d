#include "target/tracer/object_reader.h"

#include <elf.h>

#include <algorithm>

#include "target/tracer/debug_file.h"
#include "target/tracer/dynamic_section.h"
#include "wire/log.h"

namespace heaptap::tracer {
namespace {

struct FileView {
  FileBytes bytes;
  ElfForm form;
  std::vector<ElfSection> sections;
};

FileView view_of(const OpenFile& file, ElfForm form) {
  FileView view{FileBytes(file.descriptor()), form, {}};
  const auto elf = file.is_open() ? ElfFile::read(view.bytes) : std::nullopt;
  if (elf && elf->form() == form) view.sections = elf->read_sections(view.bytes);
  return view;
}

bool has_content(const ElfSection* section) {
  return section != nullptr && section->type != SHT_NOBITS && section->bytes != 0;
}

bool has_compressed_frames(const FileView& view) {
  const ElfSection* section = find_section(view.sections, ".debug_frame");
  return find_section(view.sections, ".zdebug_frame") != nullptr ||
         (has_content(section) && (section->flags & SHF_COMPRESSED) != 0);
}

bool note_frames(const FileView& view, const OpenFile& file, LoadedObject& object) {
  const ElfSection* section = find_section(view.sections, ".debug_frame");
  if (!has_content(section) || (section->flags & SHF_COMPRESSED) != 0) return false;
  object.frame_file = file.descriptor();
  object.frame_offset = section->offset;
  object.frame_bytes = section->bytes;
  return true;
}

void note_unwind_table(const FileView& view, const MappedObject& mapped, LoadedObject& object) {
  const ElfSection* section = find_section(view.sections, ".eh_frame");
  if (!has_content(section) || (section->flags & SHF_ALLOC) == 0) return;
  const uint64_t begin = mapped.bias + section->address;
  if (!mapped.range.contains(begin) || section->bytes > mapped.range.end - begin) return;
  object.unwind_table = begin;
  object.unwind_table_bytes = section->bytes;
}

LoadedObject facts_of(const MappedObject& mapped, std::string path) {
  LoadedObject object;
  object.path = std::move(path);
  object.bias = mapped.bias;
  object.start = mapped.range.begin;
  object.end = mapped.range.end;
  object.build_id_bytes = static_cast<uint8_t>(std::min(mapped.build_id.size(), object.build_id.size()));
  std::copy_n(mapped.build_id.begin(), object.build_id_bytes, object.build_id.begin());
  object.code = mapped.code;
  object.unwind_header = mapped.unwind_header;
  return object;
}

}  // namespace

ReadObject read_object(const ByteSource& memory, ElfForm form, const ObjectQuestion& question) {
  const MappedObject& mapped = question.mapped;
  ReadObject result;
  LoadedObject& object = result.object;
  object = facts_of(mapped, question.path);
  if (mapped.is_vdso) {
    object.flags = static_cast<uint8_t>(wire::kModuleIsVdso | (mapped.unwind_header == 0 ? wire::kModuleHasNoCfi : 0));
    return result;
  }
  ObjectFile opened = open_object_file(question.thread, mapped);
  result.file = std::move(opened.file);
  const FileView view = view_of(result.file, form);
  FunctionFinder finder(question.names, mapped, question.is_program);

  const SymbolTable dynamic = table_in_file(form, view.sections, SHT_DYNSYM);
  if (dynamic.count != 0) {
    finder.search(view.bytes, form, dynamic, true);
  } else if (mapped.dynamic != 0) {
    const DynamicSection section(memory, form, mapped.dynamic, mapped.dynamic_bytes, mapped.bias, mapped.range);
    finder.search(memory, form, section.symbols(memory), true);
  }
  const SymbolTable full = table_in_file(form, view.sections, SHT_SYMTAB);
  finder.search(view.bytes, form, full, false);

  note_unwind_table(view, mapped, object);
  bool has_frames = note_frames(view, result.file, object);
  bool has_compressed = has_compressed_frames(view);
  bool has_symbols = full.count != 0;
  if (!has_symbols || !has_frames) {
    const DebugLink link = read_debug_link(view.bytes, form, view.sections);
    result.debug_file = open_debug_file(question.thread, object.path, mapped.build_id, link);
    const FileView debug = view_of(result.debug_file, form);
    const SymbolTable separate = table_in_file(form, debug.sections, SHT_SYMTAB);
    if (!has_symbols) finder.search(debug.bytes, form, separate, false);
    has_symbols |= separate.count != 0;
    if (!has_frames) has_frames = note_frames(debug, result.debug_file, object);
    has_compressed |= has_compressed_frames(debug);
  }
  result.symbols = finder.take();
  object.functions = std::move(result.symbols.functions);

  const bool has_cfi = object.unwind_header != 0 || object.unwind_table_bytes != 0;
  if (!has_cfi && !has_frames) {
    object.flags |= wire::kModuleHasNoCfi;
    if (has_compressed) {
      result.notes.push_back(object.path +
                             ": its only unwind tables are compressed; `objcopy --decompress-debug-sections` "
                             "makes a debug file that heaptap reads");
    }
  }
  if (!result.file.is_open()) {
    result.notes.push_back(object.path + ": its file can't be read (" + opened.why_not +
                           "): only the functions that it shows " +
                           "to other objects are seen, and its stacks need .eh_frame_hdr");
  }
  if (result.symbols.is_static && object.functions.empty()) {
    result.notes.push_back(
        has_symbols
            ? object.path +
                  ": the program is static and defines none of the functions that heaptap watches: "
                  "its allocator has other names"
            : object.path + ": the program is static and stripped, nothing tells where its malloc is: install its " +
                  "debug file" + (mapped.build_id.empty() ? "" : " (" + debug_path_of(mapped.build_id) + ")") +
                  ", or run the unstripped program");
  }
  if (object.frame_file != result.file.descriptor() || !has_frames) result.file = OpenFile();
  if (object.frame_file != result.debug_file.descriptor() || !has_frames) result.debug_file = OpenFile();
  return result;
}

}  // namespace heaptap::tracer
