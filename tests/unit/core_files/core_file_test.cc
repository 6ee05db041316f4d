#include "record/core_files/core_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "common/arch/native.h"
#include "made_core.h"
#include "record/core_files/core_memory.h"
#include "record/core_files/core_notes.h"

namespace heaptap::core_files {
namespace {

using test::CoreBytes;
using test::MadeCore;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kHeap = 0x555555559000;
constexpr uint64_t kStack = 0x7ffffffde000;

base::Result<CoreFile> read(const CoreBytes& bytes) { return read_core_file(bytes, bytes.bytes.size(), "core"); }

std::string failure(const CoreBytes& bytes) {
  const auto core = read(bytes);
  return core ? "" : core.error().message;
}

std::vector<uint8_t> page_of(uint8_t byte, size_t count = 4096) { return std::vector<uint8_t>(count, byte); }

// A thread and a page.
MadeCore small_core() {
  MadeCore core;
  core.add_thread(7, 11);
  core.add_memory(kHeap, 4096, PF_R | PF_W, page_of(1));
  return core;
}

class Cores : public testing::Test {
 protected:
  void SetUp() override {
    if (arch::native::kArchitecture != wire::Architecture::kX86_64) GTEST_SKIP() << "the cores here are of x86-64";
  }
};

// On every machine: notes are read by the core's CPU.
TEST(CoreNotes, NameAllVectorRegistersOfAnAArch64Core) {
  constexpr size_t kVectors = 32;
  MadeCore made;
  made.add_thread(9, 6);
  std::vector<uint64_t> vectors(2 * kVectors + 1);  // behind them the state and the control word
  for (size_t i = 0; i < kVectors; ++i) vectors[2 * i + i % 2] = kHeap + i;
  std::vector<uint8_t> value(vectors.size() * sizeof(uint64_t));
  std::memcpy(value.data(), vectors.data(), value.size());
  made.add_note(NT_FPREGSET, value);
  const CoreBytes notes = made.notes();
  CoreFile core;
  read_core_notes(notes, {0, notes.bytes.size()}, *arch::cpu_of(wire::Architecture::kAArch64), core);
  ASSERT_EQ(core.threads.size(), 1u);
  constexpr uint16_t kFirstVector = 64;  // its DWARF number
  std::vector<uint16_t> numbers;
  for (const wire::RootWord& word : core.threads[0].registers) {
    if (word.value >= kHeap && word.value < kHeap + kVectors) numbers.push_back(word.register_number);
  }
  std::vector<uint16_t> expected(kVectors);
  std::iota(expected.begin(), expected.end(), kFirstVector);
  EXPECT_EQ(numbers, expected);
}

TEST_F(Cores, HaveThreadsWithTheirRegisters) {
  MadeCore made;
  std::vector<uint64_t> registers(27);
  registers[4] = kStack - 64;      // rbp
  registers[5] = kHeap + 16;       // rbx
  registers[16] = kHeap + 1;       // rip
  registers[19] = kStack;          // rsp
  registers[21] = 0x7ffff7d00740;  // fs_base
  made.add_thread(9, 6, registers);
  std::vector<uint8_t> vectors(832);
  const uint64_t pointer = kHeap + 32;
  std::memcpy(vectors.data() + 160 + 16, &pointer, sizeof(pointer));
  const uint64_t upper = kHeap + 48;  // behind xmm15: in which register is the other machine's CPU's to say
  std::memcpy(vectors.data() + 576 + size_t{3} * 16, &upper, sizeof(upper));
  made.add_note(NT_X86_XSTATE, vectors, "LINUX");
  made.add_thread(8, 0);
  made.add_memory(kHeap, 4096, PF_R | PF_W, page_of(1));
  const auto core = read(made.make());
  ASSERT_TRUE(core) << core.error().message;
  ASSERT_EQ(core->threads.size(), 2u);
  EXPECT_EQ(core->first_thread, 9u);
  EXPECT_EQ(core->signal, 6);
  const process::StoppedThread& thread = core->threads[1];
  EXPECT_EQ(thread.thread_id, 9u);
  EXPECT_EQ(thread.stack_pointer, kStack);
  EXPECT_EQ(thread.program_counter, kHeap + 1);
  EXPECT_EQ(thread.frame_pointer, kStack - 64);
  EXPECT_EQ(thread.thread_pointer, 0x7ffff7d00740u);
  const auto holds = [&](uint64_t value, uint16_t number) {
    return std::ranges::any_of(thread.registers, [&](const wire::RootWord& word) {
      return word.value == value && word.register_number == number && word.thread_id == 9;
    });
  };
  EXPECT_TRUE(holds(kHeap + 16, 3));
  EXPECT_TRUE(holds(kHeap + 32, 18)) << "xmm1";
  EXPECT_TRUE(holds(kHeap + 48, wire::kSomeVectorRegister));
}

TEST_F(Cores, SayWhyTheyCantBeUsed) {
  CoreBytes bytes;
  EXPECT_THAT(failure(bytes), HasSubstr("is not a core file"));
  bytes.bytes.assign({0x28, 0xb5, 0x2f, 0xfd, 0});
  EXPECT_THAT(failure(bytes), HasSubstr("zstd -d core"));
  bytes.bytes.assign({0xfd, '7', 'z', 'X', 'Z', 0});
  EXPECT_THAT(failure(bytes), HasSubstr("unxz -k core"));
  MadeCore program = small_core();
  program.header().e_type = ET_DYN;
  EXPECT_THAT(failure(program.make()), HasSubstr("but a program or a library"));
  MadeCore short_words = small_core();
  short_words.header().e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(failure(short_words.make()), HasSubstr("32-bit"));
  MadeCore foreign = small_core();
  foreign.header().e_machine = EM_PPC64;
  EXPECT_THAT(failure(foreign.make()), HasSubstr("another CPU"));
  MadeCore other_order = small_core();
  other_order.header().e_ident[EI_DATA] = ELFDATA2MSB;
  EXPECT_NE(failure(other_order.make()), "");
  MadeCore no_threads;
  no_threads.add_memory(kHeap, 4096, PF_R | PF_W, page_of(1));
  EXPECT_THAT(failure(no_threads.make()), HasSubstr("has no threads"));
  MadeCore no_memory;
  no_memory.add_thread(7, 0);
  EXPECT_THAT(failure(no_memory.make()), HasSubstr("has no memory"));
}

TEST_F(Cores, AreHeldAgainstTheSizeOfTheFile) {
  CoreBytes bytes = small_core().make();
  const size_t whole = bytes.bytes.size();
  EXPECT_FALSE(read(bytes)->is_truncated());
  bytes.bytes.resize(whole - 100);
  const auto core = read(bytes);
  ASSERT_TRUE(core) << core.error().message;
  EXPECT_TRUE(core->is_truncated());
  EXPECT_EQ(core->wanted_bytes, whole);
  EXPECT_EQ(core->segments[0].there_bytes, 4096u - 100);
  bytes.bytes.resize(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 20);
  EXPECT_THAT(failure(bytes), HasSubstr("is truncated"));
}

TEST_F(Cores, LieWithoutEffect) {
  MadeCore made = small_core();
  const auto lies = [&made](uint64_t address, uint64_t size, uint64_t offset, uint64_t file_bytes) {
    const size_t index = made.add_memory(address, size, PF_R | PF_W, {});
    made.segment(index).p_offset = offset;
    made.segment(index).p_filesz = file_bytes;
  };
  lies(kHeap, 8192, 64, 4096);         // over another one
  lies(0x1000, UINT64_MAX, 64, 4096);  // beyond all addresses
  lies(UINT64_MAX & ~uint64_t{0xfff}, 8192, 64, 4096);
  lies(0x2000, 4096, UINT64_MAX - 10, 4096);  // no file is as large
  lies(0x3000, 4096, 64, UINT64_MAX);
  lies(0x4000, uint64_t{1} << 50, 64, 4096);
  lies(0x5001, 4096, 64, 4096);  // no page
  lies(0x6000, 0, 64, 0);
  lies(0x10000, 4096, uint64_t{1} << 40, 4096);  // beyond the file: nothing is there
  const auto core = read(made.make());
  ASSERT_TRUE(core) << core.error().message;
  ASSERT_EQ(core->segments.size(), 2u);
  EXPECT_EQ(core->segments[0].memory, (base::AddressRange{0x10000, 0x11000}));
  EXPECT_EQ(core->segments[0].there_bytes, 0u);
  EXPECT_EQ(core->segments[1].memory, (base::AddressRange{kHeap, kHeap + 4096}));
}

TEST_F(Cores, HaveEachByteOnce) {
  MadeCore made = small_core();
  const size_t first = made.add_memory(0x10000, 4096, PF_R | PF_W, page_of(2));
  const size_t second = made.add_memory(0x20000, 4096, PF_R | PF_W, {});
  made.segment(first).p_offset = 1 << 13;
  made.segment(second).p_offset = (1 << 13) + 16;
  made.segment(second).p_filesz = 4096;
  CoreBytes bytes = made.make();
  bytes.bytes.resize(1 << 14);
  const auto core = read(bytes);
  ASSERT_TRUE(core) << core.error().message;
  ASSERT_EQ(core->segments.size(), 3u);
  EXPECT_EQ(core->segments[0].there_bytes, 4096u);
  EXPECT_EQ(core->segments[1].there_bytes, 0u);
  EXPECT_EQ(core->segments[1].written_bytes, 4096u) << "it is missing, not empty";
}

TEST_F(Cores, MayHaveMoreSegmentsThanTheirHeaderCounts) {
  CoreBytes bytes = small_core().make();
  const uint64_t section_at = bytes.bytes.size();
  Elf64_Shdr section{};
  section.sh_info = 2;
  bytes.put(section_at, &section, sizeof(section));
  bytes.put2(offsetof(Elf64_Ehdr, e_phnum), PN_XNUM);
  bytes.put8(offsetof(Elf64_Ehdr, e_shoff), section_at);
  const auto core = read(bytes);
  ASSERT_TRUE(core) << core.error().message;
  EXPECT_EQ(core->segments.size(), 1u);
  bytes.put8(offsetof(Elf64_Ehdr, e_shoff), uint64_t{1} << 60);
  const auto without = read(bytes);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_TRUE(without->is_truncated());
}

TEST_F(Cores, HaveNotesOfAnySize) {
  for (const uint64_t count : {uint64_t{1} << 40, uint64_t{2}, UINT64_MAX}) {
    MadeCore made = small_core();
    std::vector<uint8_t> files(16 + 24);
    std::memcpy(files.data(), &count, sizeof(count));
    made.add_note(NT_FILE, files);
    made.add_note(NT_PRSTATUS, page_of(0, 20));
    made.add_note(NT_PRPSINFO, page_of('x', 30));
    made.add_note(NT_AUXV, page_of(0xff, 24));
    made.add_note(NT_X86_XSTATE, page_of(0xff, 100), "LINUX");
    const auto core = read(made.make());
    ASSERT_TRUE(core) << core.error().message;
    EXPECT_TRUE(core->files.empty());
    EXPECT_EQ(core->threads.size(), 1u);
  }
}

TEST_F(Cores, HaveMappingsOfFilesAlsoWhereTheMemoryIsMissing) {
  MadeCore made = small_core();
  made.add_memory(0x10000, 0x3000, PF_R, page_of(2));
  made.add_files({{0x8000, 0x9000, 3, "/before"}, {0x11000, 0x12000, 5, "/within"}, {0x20000, 0x21000, 0, "/after"}});
  const CoreBytes bytes = made.make();
  const auto core = read(bytes);
  ASSERT_TRUE(core) << core.error().message;
  const CoreMemory memory(bytes, *core, "");
  std::vector<std::string> map;
  for (const process::Mapping& mapping : memory.map()) {
    map.push_back(
        fmt::format("{:x}-{:x} {:x} {}", mapping.range.begin, mapping.range.end, mapping.offset, mapping.name));
  }
  EXPECT_THAT(map, ElementsAre("8000-9000 3000 /before", "10000-11000 0 ", "11000-12000 5000 /within", "12000-13000 0 ",
                               "20000-21000 0 /after", "555555559000-55555555a000 0 "));
}

TEST_F(Cores, GiveTheMemoryThatTheyHave) {
  MadeCore made;
  made.add_thread(7, 0);
  made.add_memory(kHeap, 0x2000, PF_R | PF_W, page_of(1));
  made.add_memory(kHeap + 0x2000, 0x1000, PF_R | PF_W, page_of(2));
  made.add_memory(kHeap + 0x3000, 0x1000, PF_R | PF_W, page_of(3));
  const CoreBytes bytes = made.make();
  const auto core = read(bytes);
  ASSERT_TRUE(core);
  CoreMemory memory(bytes, *core, "");
  EXPECT_EQ(memory.word(kHeap), 0x0101010101010101u);
  EXPECT_EQ(memory.word(kHeap + 0x1000), std::nullopt) << "it isn't known to be zero";
  EXPECT_EQ(memory.word(kHeap + 0x2ffc), 0x0303030302020202u);
  EXPECT_EQ(memory.word(UINT64_MAX - 3), std::nullopt);
  EXPECT_THAT(
      memory.touched_ranges(kHeap + 8, kHeap + 0x2800),
      ElementsAre(base::AddressRange{kHeap + 8, kHeap + 0x1000}, base::AddressRange{kHeap + 0x2000, kHeap + 0x2800}));
  EXPECT_EQ(memory.skip_untouched(0, UINT64_MAX), kHeap);
  EXPECT_EQ(memory.skip_untouched(kHeap + 0x1800, UINT64_MAX), kHeap + 0x2000);
  EXPECT_EQ(memory.skip_untouched(kHeap + 0x4000, kHeap + 0x9000), kHeap + 0x9000);
  EXPECT_EQ(memory.missing().bytes, 0x1000u);
  EXPECT_EQ(memory.missing().mappings, 1u);
}

TEST_F(Cores, MissOnlyMemoryThatMayHaveHeldPointers) {
  MadeCore made = small_core();
  made.add_memory(0x10000, 0x1000, PF_R | PF_X, {});
  made.add_memory(0x20000, 0x1000, PF_R, {});
  made.add_memory(0x30000, 0x1000, 0, {});
  made.add_memory(0x40000, 0x1000, PF_R | PF_W, {});
  made.add_memory(0x50000, 0x1000, PF_R | PF_W, {});
  made.add_files(
      {{0x40000, 0x41000, 0, "/shared"}, {0x50000, 0x51000, 0, "/dev/dri/card0"}, {0x60000, 0x61000, 0, "/any"}});
  const CoreBytes bytes = made.make();
  const auto core = read(bytes);
  ASSERT_TRUE(core);
  const CoreMemory memory(bytes, *core, "");
  EXPECT_EQ(memory.missing().bytes, 0x2000u) << "shared with a file; filled and then made read-only, perhaps";
  EXPECT_EQ(memory.missing().mappings, 2u);
  EXPECT_EQ(memory.missing().of_files, 1u);
}

}  // namespace
}  // namespace heaptap::core_files
