// Cache from a return address to its frame rule and code entry, each made once. `Cpu` is an arch's TracedUnwinding.
#pragma once
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "capture/elf/frame_tables.h"
#include "capture/process/traced_memory.h"
#include "capture/tracer/loaded_objects.h"
#include "capture/tracer/log_writer.h"
#include "common/arch/cpu.h"
#include "common/arch/signal_frames.h"
#include "common/base/number_table.h"
#include "common/unwind/late_row.h"
#include "common/unwind/row.h"
#include "common/unwind/step.h"
#include "common/wire/log.h"

namespace heaptap::tracer {

struct FrameRule {
  unwind::Row unwind_row;
  const arch::SignalTrampoline* signal = nullptr;  // for RowKind::kSignal
  uint64_t entry = 0;                              // wire::CodeEntry

  [[nodiscard]] unwind::Row row() const { return unwind_row; }
  [[nodiscard]] uint64_t code() const { return entry; }
};

template <typename Cpu>
class FrameRules {
 public:
  FrameRules(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log)
      : cpu_(cpu), memory_(memory), objects_(objects), log_(log), seen_rows_(log.late_rows().reach()) {}

  // `key`: the address, with wire::kCodeExact for an interrupted instruction. Valid until the next call.
  const FrameRule& find(uint64_t key) {
    uint32_t index = numbers_.find(key);
    if (index == base::NumberTable::kNone) [[unlikely]] {
      if (rules_.size() >= kMaxRules) {
        numbers_ = base::NumberTable();
        rules_.clear();
      }
      index = static_cast<uint32_t>(rules_.size());
      numbers_.add(key, index);
      rules_.emplace_back();
    }
    FrameRule& rule = rules_[index];
    if (rule.row().kind() == unwind::RowKind::kUnknown) [[unlikely]]
      rule = make(key);
    return rule;
  }

  void object_came(uint32_t index, uint32_t generation) {
    known(index).generation = generation;
    forget(index);
  }
  void object_went(uint32_t index) { forget(index); }

  // Whether late rows came since the last check. Then results made without them are forgotten.
  bool take_late_rows() {
    const uint32_t reach = log_.late_rows().reach();
    if (reach == seen_rows_) return false;
    seen_rows_ = reach;
    for (uint32_t index = 0; index < known_.size(); ++index) {
      if (known_[index].lacks_rows) forget(index);
    }
    return true;
  }

 private:
  // More than the call sites of any program: where stacks end in words that are no addresses, each of these gets a rule.
  static constexpr size_t kMaxRules = size_t{1} << 20;
  struct KnownObject {
    uint32_t generation = 0;
    uint64_t entry = 0;
    std::unique_ptr<elf::FrameTables> tables;
    uint64_t rows_key = 0;    // key of its late rows (common/wire/late_rows.h)
    bool lacks_rows = false;  // code without a row was seen in it
  };

  KnownObject& known(uint32_t index) {
    if (index >= known_.size()) known_.resize(index + size_t{1});
    return known_[index];
  }

  // Invalidates rules of its range; its tables may be different the next time.
  void forget(uint32_t index) {
    known(index).tables.reset();
    if (index >= objects_.objects().size()) return;
    const LoadedObject& object = objects_.objects()[index];
    numbers_.for_each([&](uint64_t key, uint32_t number) {
      const uint64_t address = wire::code_address(key);
      if (address >= object.start && address <= object.end) rules_[number].unwind_row = unwind::Row();
    });
  }

  FrameRule make(uint64_t key) {
    const uint64_t pc = unwind::instruction_of(key);
    const int index = objects_.find(pc);
    FrameRule rule{unwind::Row(unwind::RowKind::kNoTable), nullptr, key};
    if (index >= 0) {
      const KnownObject& object = prepared(static_cast<uint32_t>(index));
      rule.entry = wire::with_generation(key, object.generation);
      const uint64_t function = object.tables->template function_at<typename Cpu::Rules>(pc).begin;
      rule.unwind_row = unwind::is_entry_code(object.entry, function, pc)
                            ? unwind::Row(unwind::RowKind::kEnd)
                            : object.tables->template row_for<typename Cpu::Rules>(pc);
    }
    if (index >= 0 && rule.row().kind() == unwind::RowKind::kNoTable) {
      rule.unwind_row = late_row_of(static_cast<uint32_t>(index), pc);
    }
    if ((key & wire::kCodeExact) == 0) recognize_signal(wire::code_address(key), rule);
    if (index >= 0 && rule.row().kind() == unwind::RowKind::kNoTable)
      note_miss(known_[static_cast<size_t>(index)], rule);
    if (rule.row().kind() == unwind::RowKind::kSignal && rule.signal == nullptr) rule.signal = &Cpu::kTrampolines[0];
    return rule;
  }

  unwind::Row late_row_of(uint32_t index, uint64_t pc) {
    const uint64_t address = pc - objects_.objects()[index].bias;
    return unwind::late_row<typename Cpu::Rules>(log_.late_rows().find(known_[index].rows_key).row_at(address));
  }

  // Requests rows of the object from elsewhere.
  void note_miss(KnownObject& object, const FrameRule& rule) {
    if (object.rows_key == 0 || !log_.late_rows().are_possible() || std::exchange(object.lacks_rows, true)) return;
    wire::note_row_miss(log_.header(), rule.entry & ~wire::kCodeExact);
  }

  // By its code, where CFI marks it as a trampoline, or has nothing.
  void recognize_signal(uint64_t address, FrameRule& rule) {
    const unwind::RowKind kind = rule.row().kind();
    if (kind != unwind::RowKind::kSignal && kind != unwind::RowKind::kNoTable) return;
    uint8_t code[arch::SignalTrampoline::kMaxBytes] = {};
    if (memory_.read_some(address, code, sizeof(code)) == 0) return;
    for (const arch::SignalTrampoline& trampoline : Cpu::kTrampolines) {
      if (!trampoline.is(code)) continue;
      rule.unwind_row = unwind::Row(unwind::RowKind::kSignal);
      rule.signal = &trampoline;
      return;
    }
  }

  const KnownObject& prepared(uint32_t index) {
    KnownObject& object = known(index);
    if (object.tables != nullptr) return object;
    const LoadedObject& loaded = objects_.objects()[index];
    const elf::FrameTablePlaces places{.range = {loaded.start, loaded.end},
                                       .header = loaded.unwind_header,
                                       .table = loaded.unwind_table,
                                       .table_bytes = loaded.unwind_table_bytes,
                                       .word_bytes = sizeof(typename Cpu::Word),
                                       .bias = loaded.bias,
                                       .file = loaded.frame_file,
                                       .file_offset = loaded.frame_offset,
                                       .file_bytes = loaded.frame_file >= 0 ? loaded.frame_bytes : 0};
    object.tables = std::make_unique<elf::FrameTables>(places, memory_);
    object.entry = entry_of(loaded);
    if (loaded.is_go) return object;
    object.rows_key = wire::late_rows_key(loaded.build_id.data(), loaded.build_id_bytes);
    return object;
  }

  // e_entry of the ELF header at the start of the object's memory; 0: none. Relevant for the program and its loader
  // only: executable libraries have one as well.
  [[nodiscard]] uint64_t entry_of(const LoadedObject& object) const {
    if ((object.flags & wire::kModuleIsMain) == 0 && !object.is_loader) return 0;
    constexpr size_t kEntryOffset = 24;  // in both ELF classes
    uint8_t header[kEntryOffset + sizeof(typename Cpu::Word)];
    if (memory_.read_some(object.start, header, sizeof(header)) != sizeof(header)) return 0;
    if (std::memcmp(header,
                    "\x7f"
                    "ELF",
                    4) != 0)
      return 0;
    uint64_t entry = 0;
    for (size_t i = 0; i < sizeof(typename Cpu::Word); ++i) {
      const size_t from = cpu_.is_big_endian() ? i : sizeof(typename Cpu::Word) - 1 - i;
      entry = entry << 8 | header[kEntryOffset + from];
    }
    return entry != 0 ? object.bias + entry : 0;
  }

  const arch::Cpu& cpu_;
  process::TracedMemory& memory_;
  const LoadedObjects& objects_;
  LogWriter& log_;
  uint32_t seen_rows_;
  base::NumberTable numbers_;
  std::vector<FrameRule> rules_;
  std::vector<KnownObject> known_;  // by index
};

}  // namespace heaptap::tracer
