// Core file of x86-64 made for a test, each field as the test says.
#pragma once
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/byte_source.h"

namespace heaptap::test {

class CoreBytes final : public base::ByteSource {
 public:
  std::vector<uint8_t> bytes;

  size_t read_some(uint64_t offset, void* to, size_t wanted) const override {
    if (offset >= bytes.size() || wanted == 0) return 0;
    const size_t count = std::min<size_t>(wanted, bytes.size() - static_cast<size_t>(offset));
    std::memcpy(to, bytes.data() + offset, count);
    return count;
  }

  void put(size_t offset, const void* from, size_t count) {
    bytes.resize(std::max(bytes.size(), offset + count));
    std::memcpy(bytes.data() + offset, from, count);
  }
  void put8(size_t offset, uint64_t value) { put(offset, &value, sizeof(value)); }
  void put2(size_t offset, uint16_t value) { put(offset, &value, sizeof(value)); }
};

// Header, segments, notes, and then the memory's bytes.
class MadeCore {
 public:
  struct File {
    uint64_t begin;
    uint64_t end;
    uint64_t page_offset;
    std::string path;
  };

  MadeCore() {
    std::memcpy(header_.e_ident, ELFMAG, SELFMAG);
    header_.e_ident[EI_CLASS] = ELFCLASS64;
    header_.e_ident[EI_DATA] = ELFDATA2LSB;
    header_.e_type = ET_CORE;
    header_.e_machine = EM_X86_64;
    header_.e_phoff = sizeof(header_);
    header_.e_phentsize = sizeof(Elf64_Phdr);
  }

  Elf64_Ehdr& header() { return header_; }

  // `bytes` are written of it; returns its index among the segments.
  size_t add_memory(uint64_t address, uint64_t size, uint32_t flags, std::vector<uint8_t> bytes) {
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = flags;
    segment.p_vaddr = address;
    segment.p_memsz = size;
    segment.p_filesz = bytes.size();
    memory_.push_back(segment);
    contents_.push_back(std::move(bytes));
    return memory_.size() - 1;
  }
  Elf64_Phdr& segment(size_t index) { return memory_[index]; }

  void add_note(uint32_t type, const std::vector<uint8_t>& value, std::string_view owner = "CORE") {
    const auto owner_bytes = static_cast<uint32_t>(owner.size() + 1);
    const auto value_bytes = static_cast<uint32_t>(value.size());
    const uint32_t head[3] = {owner_bytes, value_bytes, type};
    const size_t at = notes_.size();
    const auto padded = [](size_t bytes) { return (bytes + 3) & ~size_t{3}; };
    notes_.resize(at + sizeof(head) + padded(owner_bytes) + padded(value_bytes));
    std::memcpy(notes_.data() + at, head, sizeof(head));
    std::memcpy(notes_.data() + at + sizeof(head), owner.data(), owner.size());
    if (!value.empty())
      std::memcpy(notes_.data() + at + sizeof(head) + padded(owner_bytes), value.data(), value.size());
  }

  // With these registers in the order of struct user_regs_struct.
  void add_thread(uint32_t id, uint16_t signal, const std::vector<uint64_t>& registers = {}) {
    std::vector<uint8_t> value(112 + 27 * 8 + 8);
    std::memcpy(value.data() + 12, &signal, sizeof(signal));
    std::memcpy(value.data() + 32, &id, sizeof(id));
    if (!registers.empty())
      std::memcpy(value.data() + 112, registers.data(), std::min<size_t>(27, registers.size()) * 8);
    add_note(NT_PRSTATUS, value);
  }

  void add_files(const std::vector<File>& files, uint64_t page_bytes = 4096) {
    std::vector<uint64_t> words{files.size(), page_bytes};
    std::string paths;
    for (const File& file : files) {
      words.insert(words.end(), {file.begin, file.end, file.page_offset});
      paths += file.path + '\0';
    }
    std::vector<uint8_t> value(words.size() * 8 + paths.size());
    std::memcpy(value.data(), words.data(), words.size() * 8);
    std::memcpy(value.data() + words.size() * 8, paths.data(), paths.size());
    add_note(NT_FILE, value);
  }

  // As they are added, from byte 0 on.
  [[nodiscard]] CoreBytes notes() const {
    CoreBytes bytes;
    bytes.bytes = notes_;
    return bytes;
  }

  CoreBytes make() {
    header_.e_phnum = static_cast<uint16_t>(memory_.size() + 1);
    size_t at = sizeof(header_) + (memory_.size() + 1) * sizeof(Elf64_Phdr);
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = at;
    notes.p_filesz = notes_.size();
    CoreBytes core;
    core.put(0, &header_, sizeof(header_));
    core.put(sizeof(header_), &notes, sizeof(notes));
    if (!notes_.empty()) core.put(at, notes_.data(), notes_.size());
    at += notes_.size();
    for (size_t i = 0; i < memory_.size(); ++i) {
      Elf64_Phdr segment = memory_[i];
      if (segment.p_offset == 0) segment.p_offset = at;
      core.put(sizeof(header_) + (i + 1) * sizeof(segment), &segment, sizeof(segment));
      if (!contents_[i].empty()) core.put(at, contents_[i].data(), contents_[i].size());
      at += contents_[i].size();
    }
    return core;
  }

 private:
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> memory_;
  std::vector<std::vector<uint8_t>> contents_;
  std::vector<uint8_t> notes_;
};

}  // namespace heaptap::test
