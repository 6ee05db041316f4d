// An ELF file of any content, of either word size and byte order: read as a file, and as what a process has mapped.
#include "capture/elf/elf_headers.h"

#include <elf.h>

#include <cstdint>
#include <span>

#include "capture/elf/debug_file.h"
#include "capture/elf/dynamic_section.h"
#include "capture/elf/loader_list.h"
#include "capture/elf/symbol_search.h"
#include "capture/tracer/watched_names.h"
#include "fuzz/support/expect.h"
#include "fuzz/support/span_bytes.h"

using namespace heaptap;
using namespace heaptap::elf;

namespace {

void search(const base::ByteSource& source, ElfForm form, const SymbolTable& table) {
  const tracer::WatchedNames names(form.word_bytes);
  search_symbols(source, form, table, names.symbols(), [&](size_t name, const ElfSymbol& symbol, uint64_t number) {
    FUZZ_EXPECT(name < names.symbols().size() && number < table.count);
    const std::string_view expected = names.symbols()[name];
    FUZZ_EXPECT(read_text(source, table.strings + symbol.name, expected.size() + 1) == expected);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const fuzz::SpanBytes source({bytes, size_bytes});
  const auto file = ElfHeaders::read(source);
  if (!file) return 0;
  const ElfForm form = file->form();
  const std::vector<ElfSection> sections = file->read_sections(source);
  search(source, form, table_in_file(form, sections, SHT_SYMTAB));
  search(source, form, table_in_file(form, sections, SHT_DYNSYM));
  const DebugLink link = read_debug_link(source, form, sections);
  FUZZ_EXPECT(link.name.find('/') == std::string::npos);
  for (const ElfSegment& segment : file->segments()) {
    if (segment.type == PT_NOTE)
      (void)find_note(source, form, segment.offset, segment.file_bytes, "GNU", NT_GNU_BUILD_ID);
    if (segment.type != PT_DYNAMIC) continue;
    const DynamicSection dynamic(source, form, segment.offset, segment.file_bytes, 0, {0, size_bytes});
    search(source, form, dynamic.symbols(source));
    (void)read_loader_list(source, form, dynamic.value(DT_DEBUG).value_or(0));
  }
  (void)parse_auxiliary_vector({reinterpret_cast<const char*>(bytes), size_bytes}, form);
  return 0;
}
