#include "record/core_files/core_file.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "common/arch/cpu.h"
#include "common/arch/thread_facts.h"
#include "common/base/units.h"
#include "record/core_files/core_notes.h"

namespace heaptap::core_files {
namespace {

constexpr uint64_t kMaxSegments = uint64_t{1} << 19;  // no process has more mappings
constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 47;

struct Compression {
  std::string_view beginning;
  const char* name;
  const char* command;
};
constexpr Compression kCompressions[] = {
    {"\x28\xb5\x2f\xfd", "zstd", "zstd -d"},
    {"\x1f\x8b", "gzip", "gunzip -k"},
    {"\xfd"
     "7zXZ",
     "xz", "unxz -k"},
    {"\x04\x22\x4d\x18", "lz4", "lz4 -d"},
};

using Ident = std::array<uint8_t, EI_NIDENT>;

// Why the file is none that can be read.
base::Result<> check_kind(const base::ByteSource& bytes, const std::string& name, Ident& ident) {
  const size_t got = bytes.read_some(0, ident.data(), ident.size());
  const std::string_view beginning(reinterpret_cast<const char*>(ident.data()), got);
  for (const Compression& known : kCompressions) {
    if (!beginning.starts_with(known.beginning)) continue;
    return base::fail(
        "'{}' is compressed ({}): unpack it first, with '{} {}', or 'coredumpctl dump -o core' if systemd keeps it",
        name, known.name, known.command, name);
  }
  if (got < ident.size() || !beginning.starts_with(ELFMAG)) return base::fail("'{}' is not a core file", name);
  return {};
}

struct Header {
  uint64_t segments_at = 0;
  uint64_t segment_count = 0;
};

base::Result<Header> read_header(const base::ByteSource& bytes, const std::string& name, CoreFile& core) {
  Ident ident{};
  HEAPTAP_TRY(check_kind(bytes, name, ident));
  if (ident[EI_CLASS] == ELFCLASS32) {
    return base::fail("'{}' is of a 32-bit program, whose core files are not supported", name);
  }
  core.form = {.word_bytes = 8, .is_big_endian = ident[EI_DATA] == ELFDATA2MSB};
  std::array<uint8_t, sizeof(Elf64_Ehdr)> raw{};
  if (bytes.read_some(0, raw.data(), raw.size()) != raw.size()) return base::fail("'{}' is not a core file", name);
  const auto field = [&](size_t at, unsigned size) { return core.form.number(raw.data() + at, size); };
  if (field(offsetof(Elf64_Ehdr, e_type), 2) != ET_CORE) {
    return base::fail("'{}' is not a core file, but a program or a library", name);
  }
  const auto machine = static_cast<uint16_t>(field(offsetof(Elf64_Ehdr, e_machine), 2));
  const arch::Cpu* const cpu = arch::cpu_of_elf(machine, core.form.word_bytes);
  if (cpu != nullptr) core.architecture = cpu->architecture();
  if (cpu == nullptr || !arch::is_traced_here(core.architecture) || arch::thread_facts(core.architecture) == nullptr) {
    return base::fail("'{}' is of another CPU ({}): scan it on a machine with that CPU", name,
                      cpu != nullptr ? wire::name_of(core.architecture) : "unknown");
  }
  Header header{.segments_at = field(offsetof(Elf64_Ehdr, e_phoff), 8),
                .segment_count = field(offsetof(Elf64_Ehdr, e_phnum), 2)};
  if (header.segment_count != PN_XNUM) return header;
  // Too many for that field: the number is in the only section.
  std::array<uint8_t, sizeof(Elf64_Shdr)> section{};
  const uint64_t at = field(offsetof(Elf64_Ehdr, e_shoff), 8);
  if (bytes.read_some(at, section.data(), section.size()) == section.size()) {
    header.segment_count = core.form.number(section.data() + offsetof(Elf64_Shdr, sh_info), 4);
  }
  return header;
}

// End of a segment's bytes in the file; none: no file is as large.
std::optional<uint64_t> end_in_file(const elf::ElfSegment& segment) {
  constexpr uint64_t kMaxFile = uint64_t{1} << 62;
  if (segment.offset > kMaxFile || segment.file_bytes > kMaxFile) return std::nullopt;
  return segment.offset + segment.file_bytes;
}

std::optional<CoreSegment> memory_of(const elf::ElfSegment& segment, uint64_t file_bytes) {
  const bool fits = segment.memory_bytes != 0 && segment.memory_bytes <= kMaxSegmentBytes &&
                    segment.address <= UINT64_MAX - segment.memory_bytes && segment.address % 4096 == 0;
  if (!fits || !end_in_file(segment)) return std::nullopt;
  const uint64_t written = std::min(segment.file_bytes, segment.memory_bytes);
  const uint64_t left = file_bytes > segment.offset ? file_bytes - segment.offset : 0;
  return CoreSegment{.memory = {segment.address, segment.address + segment.memory_bytes},
                     .offset = segment.offset,
                     .written_bytes = written,
                     .there_bytes = std::min(written, left),
                     .readable = (segment.flags & PF_R) != 0,
                     .writable = (segment.flags & PF_W) != 0,
                     .executable = (segment.flags & PF_X) != 0};
}

// Ascending; of those that overlap the first one stays.
template <typename Part>
void put_in_order(std::vector<Part>& parts) {
  std::ranges::stable_sort(parts, {}, [](const Part& part) { return part.memory.begin; });
  uint64_t end = 0;
  std::erase_if(parts, [&end](const Part& part) {
    if (part.memory.begin < end || part.memory.end <= part.memory.begin) return true;
    end = part.memory.end;
    return false;
  });
}

// Of segments that share bytes of the file, which no core does, the first one has them: so what is read grows with the file alone.
void give_bytes_to_one(std::vector<CoreSegment>& segments) {
  std::vector<CoreSegment*> by_offset;
  for (CoreSegment& segment : segments) {
    if (segment.there_bytes != 0) by_offset.push_back(&segment);
  }
  std::ranges::stable_sort(by_offset, {}, &CoreSegment::offset);
  uint64_t end = 0;
  for (CoreSegment* const segment : by_offset) {
    if (segment->offset < end) {
      segment->there_bytes = 0;
    } else {
      end = segment->offset + segment->there_bytes;
    }
  }
}

void put_threads_in_order(std::vector<process::StoppedThread>& threads) {
  std::ranges::stable_sort(threads, {}, &process::StoppedThread::thread_id);
  const auto same = std::ranges::unique(threads, {}, &process::StoppedThread::thread_id);
  threads.erase(same.begin(), same.end());
}

}  // namespace

base::Result<CoreFile> read_core_file(const base::ByteSource& bytes, uint64_t file_bytes, const std::string& name) {
  CoreFile core;
  core.file_bytes = file_bytes;
  const auto header = read_header(bytes, name, core);
  if (!header) return std::unexpected(header.error());
  const arch::Cpu& cpu = *arch::cpu_of(core.architecture);
  const uint64_t count = std::min(header->segment_count, kMaxSegments);
  const std::vector<elf::ElfSegment> segments =
      elf::read_segments(bytes, header->segments_at, static_cast<size_t>(count), core.form);
  core.wanted_bytes = header->segments_at;
  if (header->segment_count < kMaxSegments) core.wanted_bytes += header->segment_count * sizeof(Elf64_Phdr);
  uint64_t notes_end = 0;
  for (const elf::ElfSegment& segment : segments) {
    const auto end = end_in_file(segment);
    if (!end) continue;
    core.wanted_bytes = std::max(core.wanted_bytes, *end);
    // Those that share bytes with the ones before, which no core has, are passed over: what is read grows with the file alone.
    if (segment.type == PT_NOTE && segment.offset < file_bytes && segment.offset >= notes_end) {
      read_core_notes(bytes, {segment.offset, std::min(*end, file_bytes)}, cpu, core);
      notes_end = *end;
    }
    if (segment.type != PT_LOAD) continue;
    if (auto memory = memory_of(segment, file_bytes)) core.segments.push_back(*memory);
  }
  put_in_order(core.segments);
  give_bytes_to_one(core.segments);
  put_in_order(core.files);
  put_threads_in_order(core.threads);
  if (core.threads.empty() || core.segments.empty()) {
    if (core.is_truncated()) {
      return base::fail("'{}' is truncated: it has {} of {} bytes, and what it should say of the threads is missing",
                        name, base::format_count(file_bytes), base::format_count(core.wanted_bytes));
    }
    return base::fail("'{}' has no {}: it can't be scanned", name, core.threads.empty() ? "threads" : "memory");
  }
  if (core.process_id == 0) core.process_id = core.first_thread;
  return core;
}

}  // namespace heaptap::core_files
