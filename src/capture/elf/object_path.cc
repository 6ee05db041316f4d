#include "capture/elf/object_path.h"

#include <elf.h>

#include "capture/elf/dynamic_section.h"
#include "capture/elf/object_file.h"

namespace heaptap::elf {
namespace {

// The vDSO's DT_SONAME ("linux-vdso.so.1"), used by all loaders.
std::string own_name(const base::ByteSource& memory, ElfForm form, const MappedObject& mapped) {
  constexpr size_t kMaxOwnNameBytes = 64;
  const DynamicSection dynamic(memory, form, mapped.dynamic, mapped.dynamic_bytes, mapped.bias, mapped.range);
  const uint64_t strings = dynamic.address(DT_STRTAB);
  const auto name = dynamic.value(DT_SONAME);
  if (strings == 0 || !name) return {};
  return read_text(memory, strings + *name, kMaxOwnNameBytes);
}

// Skips the list's first entry, the program, whose name is arbitrary.
std::string listed_name(const LoaderList& list, const MappedObject& mapped) {
  for (size_t i = 1; i < list.objects.size(); ++i) {
    if (list.objects[i].dynamic == mapped.dynamic) return list.objects[i].name;
  }
  return {};
}

}  // namespace

std::string object_path(const base::ByteSource& memory, ElfForm form, const PathQuestion& question) {
  const MappedObject& mapped = question.mapped;
  if (mapped.is_vdso) {
    const std::string name = own_name(memory, form, mapped);
    return name.empty() ? mapped.first.name : name;
  }
  if (mapped.range.contains(question.auxiliary.program_headers)) {
    if (std::string path = read_process_link(question.thread, "exe"); !path.empty()) return path;
  }
  const bool is_loader = mapped.range.contains(question.auxiliary.loader);
  if (is_loader && question.interpreter.starts_with('/')) return question.interpreter;
  if (std::string name = listed_name(question.list, mapped); name.starts_with('/')) return name;
  std::string path = path_below_root(question.thread, mapped.first.name);
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

}  // namespace heaptap::elf
