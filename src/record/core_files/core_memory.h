// Memory of a program as a core file has it. What the core lacks of a module's file is taken from the file that has its build-id, if that
// is here; memory that nothing tells of can't be read.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/elf/mapped_object.h"
#include "capture/elf/module_image.h"
#include "capture/process/program_memory.h"
#include "common/base/unique_fd.h"
#include "common/model/note.h"
#include "record/core_files/core_file.h"

namespace heaptap::core_files {

// Memory that the core lacks, although pointers may have been there.
struct MissingMemory {
  uint64_t bytes = 0;     // that the program may have written
  uint64_t mappings = 0;  // in which they are
  uint64_t of_files = 0;  // mappings of files that the program may have written to, or only read
};

class CoreMemory final : public process::ProgramMemory {
 public:
  // Both must outlive it. `program`: where the program's file is; empty: where it was.
  CoreMemory(const base::ByteSource& bytes, const CoreFile& core, const std::string& program);
  CoreMemory(const CoreMemory&) = delete;
  CoreMemory& operator=(const CoreMemory&) = delete;
  ~CoreMemory() = default;

  size_t read_some(uint64_t address, void* to, size_t bytes) const override;
  std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end) override;
  [[nodiscard]] uint64_t skip_untouched(uint64_t begin, uint64_t end) const override;

  // The loaded objects, with the program's file where that was found elsewhere.
  [[nodiscard]] const std::vector<elf::MappedObject>& objects() const { return objects_; }
  // The program itself; null: unknown.
  [[nodiscard]] const elf::MappedObject* program() const;
  [[nodiscard]] const MissingMemory& missing() const { return missing_; }
  // Whether the program may have passed pointers to its kernel, which a core doesn't have.
  [[nodiscard]] bool may_use_kernel_words() const { return may_use_kernel_words_; }
  // Objects whose files aren't here, or are others.
  [[nodiscard]] const std::vector<model::Note>& notes() const { return notes_; }
  // Whether the file given for the program is another one.
  [[nodiscard]] bool has_other_program() const { return has_other_program_; }

 private:
  void name_kernels_mappings();
  void take_files(const std::string& program);
  void name_heaps(const std::vector<elf::ModuleImage>& modules);
  void find_missing(const std::vector<elf::ModuleImage>& modules);
  void count_unknown_files();
  [[nodiscard]] const CoreSegment* segment_at(uint64_t address) const;
  // `segment`: the one that contains the address; null: none does.
  [[nodiscard]] size_t read_absent(const CoreSegment* segment, uint64_t address, std::span<uint8_t> to) const;

  const base::ByteSource& bytes_;
  const CoreFile& core_;
  std::vector<elf::MappedObject> objects_;
  std::map<uint64_t, base::UniqueFd> files_;  // of modules, by the number that stands for an inode
  std::vector<base::AddressRange> zero_;      // untouched parts of modules' data without a file; ascending
  MissingMemory missing_;
  std::vector<model::Note> notes_;
  bool has_other_program_ = false;
  bool may_use_kernel_words_ = true;
};

}  // namespace heaptap::core_files
