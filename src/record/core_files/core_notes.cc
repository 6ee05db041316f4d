#include "record/core_files/core_notes.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "capture/elf/elf_headers.h"
#include "common/arch/thread_facts.h"

namespace heaptap::core_files {
namespace {

// Layouts of 64-bit CPUs, which differ in the size of the registers alone (struct elf_prstatus, struct elf_prpsinfo).
constexpr size_t kStatusSignal = 12;
constexpr size_t kStatusThread = 32;
constexpr size_t kStatusRegisters = 112;
constexpr size_t kStatusTail = 8;  // behind the registers
constexpr size_t kInfoProcess = 24;
constexpr size_t kInfoName = 40;
constexpr size_t kInfoNameBytes = 16;
constexpr size_t kInfoArguments = 56;
constexpr size_t kInfoArgumentsBytes = 80;

// Register sets besides the general ones, by CPU: in which notes the vector registers are, from where on, and how many of
// them follow one another. Where those behind them are is the other machine's CPU's to say.
struct VectorNote {
  uint16_t machine;
  uint32_t type;
  uint16_t begin;
  uint16_t count;
};
constexpr VectorNote kVectorNotes[] = {
    {EM_X86_64, NT_X86_XSTATE, 160, 16},  // XSAVE: xmm0 to xmm15, and behind them what only newer CPUs have
    {EM_AARCH64, NT_FPREGSET, 0, 32},
};
constexpr size_t kVectorBytes = 16;

constexpr size_t kNoteHead = 12;
constexpr size_t kMaxOwner = 32;
constexpr uint64_t kMaxNotes = uint64_t{1} << 20;
constexpr size_t kMaxThreads = size_t{1} << 17;
constexpr size_t kMaxFiles = size_t{1} << 18;
constexpr size_t kMaxSetBytes = size_t{64} << 10;
constexpr size_t kMaxFileNoteBytes = size_t{64} << 20;

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; }

class NoteReader {
 public:
  NoteReader(const base::ByteSource& bytes, const arch::Cpu& cpu, CoreFile& core)
      : bytes_(bytes), cpu_(cpu), facts_(arch::thread_facts(cpu.architecture())), core_(core) {}

  void read(base::AddressRange place) {
    uint64_t at = place.begin;
    for (uint64_t count = 0; count < kMaxNotes && place.end - at >= kNoteHead; ++count) {
      std::array<uint8_t, kNoteHead> head{};
      if (bytes_.read_some(at, head.data(), head.size()) != head.size()) return;
      const uint64_t owner_bytes = word4(head.data());
      const uint64_t value_bytes = word4(head.data() + 4);
      const auto type = static_cast<uint32_t>(word4(head.data() + 8));
      const uint64_t whole = kNoteHead + padded(owner_bytes) + padded(value_bytes);
      if (whole > place.end - at) return;
      const std::string owner = elf::read_text(bytes_, at + kNoteHead, std::min<uint64_t>(owner_bytes, kMaxOwner));
      take(owner, type, at + kNoteHead + padded(owner_bytes), value_bytes);
      at += whole;
    }
  }

 private:
  [[nodiscard]] uint64_t word4(const uint8_t* at) const { return core_.form.number(at, 4); }
  [[nodiscard]] uint64_t word8(const uint8_t* at) const { return core_.form.number(at, 8); }

  // Empty: shorter than `least`, longer than `most`, or not there.
  [[nodiscard]] std::vector<uint8_t> value_at(uint64_t at, uint64_t bytes, size_t least, size_t most) const {
    if (bytes < least || bytes > most) return {};
    std::vector<uint8_t> value(static_cast<size_t>(bytes));
    if (bytes_.read_some(at, value.data(), value.size()) != value.size()) return {};
    return value;
  }

  void take(std::string_view owner, uint32_t type, uint64_t at, uint64_t bytes) {
    if (owner == "CORE") {
      if (type == NT_PRSTATUS) take_status(value_at(at, bytes, kStatusRegisters + kStatusTail, kMaxSetBytes));
      if (type == NT_PRPSINFO) {
        take_process(value_at(at, bytes, kInfoArguments + kInfoArgumentsBytes, kMaxSetBytes));
      }
      if (type == NT_AUXV) take_auxiliary(value_at(at, bytes, 16, kMaxSetBytes));
      if (type == NT_FILE) take_files(value_at(at, bytes, 16, kMaxFileNoteBytes));
    }
    if (core_.threads.empty()) return;
    for (const VectorNote& known : kVectorNotes) {
      if (known.machine == cpu_.elf_machine() && known.type == type) {
        take_vectors(value_at(at, bytes, known.begin, kMaxSetBytes), known);
      }
    }
    if (owner == "LINUX") take_thread_pointer(type, at, bytes);
  }

  void take_status(const std::vector<uint8_t>& value) {
    if (value.empty() || core_.threads.size() >= kMaxThreads) return;
    arch::RegisterImage registers;
    registers.size = std::min(value.size() - kStatusRegisters - kStatusTail, sizeof(registers.bytes));
    std::memcpy(registers.bytes, value.data() + kStatusRegisters, registers.size);
    const auto thread_id = static_cast<uint32_t>(word4(value.data() + kStatusThread));
    if (core_.threads.empty()) {
      core_.first_thread = thread_id;
      core_.signal = static_cast<int>(core_.form.number(value.data() + kStatusSignal, 2));
    }
    core_.threads.push_back(process::thread_with(thread_id, cpu_, registers));
  }

  void take_process(const std::vector<uint8_t>& value) {
    if (value.empty()) return;
    const auto text = [&value](size_t at, size_t bytes) {
      const char* const begin = reinterpret_cast<const char*>(value.data()) + at;
      return std::string(begin, strnlen(begin, bytes));
    };
    core_.process_id = static_cast<uint32_t>(word4(value.data() + kInfoProcess));
    core_.program_name = text(kInfoName, kInfoNameBytes);
    core_.command = text(kInfoArguments, kInfoArgumentsBytes);
  }

  void take_auxiliary(const std::vector<uint8_t>& value) {
    for (size_t at = 0; at + 16 <= value.size(); at += 16) {
      const uint64_t what = word8(value.data() + at);
      const uint64_t address = word8(value.data() + at + 8);
      if (what == AT_NULL) return;
      if (what == AT_PHDR) core_.places.program_headers = address;
      if (what == AT_SYSINFO_EHDR) core_.places.vdso = address;
      if (what == AT_RANDOM || what == AT_EXECFN) core_.places.on_stack = address;
    }
  }

  // {count, page size}, {begin, end, offset in pages} for each, and then all paths.
  void take_files(const std::vector<uint8_t>& value) {
    constexpr size_t kHead = 16;
    constexpr size_t kEntry = 24;
    if (value.empty() || !core_.files.empty()) return;  // a core has one such note
    const uint64_t count = word8(value.data());
    const uint64_t page_bytes = word8(value.data() + 8);
    if (count > (value.size() - kHead) / kEntry || count > kMaxFiles) return;
    const char* path = reinterpret_cast<const char*>(value.data()) + kHead + static_cast<size_t>(count) * kEntry;
    const char* const end = reinterpret_cast<const char*>(value.data()) + value.size();
    for (size_t i = 0; i < count && path < end; ++i) {
      const uint8_t* const entry = value.data() + kHead + i * kEntry;
      MappedFile file{.memory = {word8(entry), word8(entry + 8)},
                      .offset = word8(entry + 16) * page_bytes,
                      .path = std::string(path, strnlen(path, static_cast<size_t>(end - path)))};
      path += std::min<size_t>(file.path.size() + 1, static_cast<size_t>(end - path));
      core_.files.push_back(std::move(file));
    }
  }

  // Each of their words. Of registers that another machine's CPU may have elsewhere the number isn't known.
  void take_vectors(const std::vector<uint8_t>& value, const VectorNote& note) {
    if (facts_ == nullptr || vectors_taken_ == core_.threads.size()) return;  // a thread has one such note
    vectors_taken_ = core_.threads.size();
    process::StoppedThread& thread = core_.threads.back();
    constexpr size_t kFirstOnes = 16;
    for (size_t at = note.begin; at + 8 <= value.size(); at += 8) {
      const uint64_t word = word8(value.data() + at);
      if (!facts_->may_be_address(word)) continue;
      const size_t index = (at - note.begin) / kVectorBytes;
      size_t number = wire::kSomeVectorRegister;
      if (index < note.count)
        number = index < kFirstOnes ? facts_->vector_number + index : facts_->later_vector_number + index - kFirstOnes;
      thread.registers.push_back({word, thread.thread_id, static_cast<uint16_t>(number)});
    }
  }

  void take_thread_pointer(uint32_t type, uint64_t at, uint64_t bytes) {
    if (facts_ == nullptr || facts_->thread_pointer_place != arch::ThreadPointerPlace::kRegisterSet ||
        facts_->thread_pointer_offset != type) {
      return;
    }
    const std::vector<uint8_t> value = value_at(at, bytes, 8, kMaxSetBytes);
    if (!value.empty()) core_.threads.back().thread_pointer = word8(value.data());
  }

  const base::ByteSource& bytes_;
  const arch::Cpu& cpu_;
  const arch::ThreadFacts* const facts_;
  CoreFile& core_;
  size_t vectors_taken_ = 0;  // number of threads so far when it was
};

}  // namespace

void read_core_notes(const base::ByteSource& bytes, base::AddressRange place, const arch::Cpu& cpu, CoreFile& core) {
  NoteReader(bytes, cpu, core).read(place);
}

}  // namespace heaptap::core_files
