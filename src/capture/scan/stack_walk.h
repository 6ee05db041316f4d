// Stack walk of stopped threads by the modules' .eh_frame, to find the function whose frame contains a root. Ends where
// the tables end or are invalid.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "capture/elf/module_image.h"
#include "capture/process/program_memory.h"
#include "capture/process/stopped_process.h"
#include "common/arch/signal_frames.h"
#include "common/model/crash.h"
#include "common/unwind/step.h"
#include "common/wire/architecture.h"
#include "common/wire/heap_scan.h"

namespace heaptap::elf {
class FrameTables;
}  // namespace heaptap::elf

namespace heaptap::scan {

class StackWalk {
 public:
  // `architecture`: of the threads' code. No frames for an unsupported one.
  StackWalk(const process::ProgramMemory& memory, const std::vector<elf::ModuleImage>& modules,
            wire::Architecture architecture);
  ~StackWalk();
  StackWalk(const StackWalk&) = delete;
  StackWalk& operator=(const StackWalk&) = delete;

  // Appends the thread's frames, innermost first, up to kMaxFrames.
  void walk(const process::StoppedThread& thread, std::vector<wire::StackFrame>& frames);

  // Stack of a thread that a signal ends. `signal_frame`: address of the context saved by the kernel for a handler that
  // runs in its place, with the interrupted registers; 0: they are the thread's own. Stacks may change at signals only.
  // Without codes: unknown.
  model::Crash crash_of(const process::StoppedThread& thread, uint64_t signal_frame);

  // Code range around pc described by one table entry: a function, or a part of one. Empty: unknown.
  base::AddressRange function_at(uint64_t pc);

  static constexpr unsigned kMaxFrames = 200;

  // Memory callback of a walk's steps.
  bool load(uint64_t address, uint64_t& value);

 private:
  struct Module {
    base::AddressRange code;
    const elf::ModuleImage* image;
  };

  template <typename Cpu>
  unwind::Row row_for(uint64_t pc);
  elf::FrameTables* tables_at(uint64_t pc);  // null: not in a module's code
  [[nodiscard]] std::unique_ptr<elf::FrameTables> make_tables(const elf::ModuleImage& image) const;
  template <typename Cpu>
  void walk_by(const process::StoppedThread& thread, std::vector<wire::StackFrame>& frames);
  template <typename Cpu>
  bool step(unwind::Row row, unwind::Position<Cpu>& at);
  template <typename Cpu>
  wire::StackEnd walk_crash(unwind::Position<Cpu> at, std::vector<uint64_t>& codes);
  template <typename Cpu>
  bool step_out_of_no_code(unwind::Position<Cpu>& at);
  [[nodiscard]] bool is_executable(uint64_t address) const;
  void copy_window(uint64_t stack_pointer);
  [[nodiscard]] const arch::SignalTrampoline* signal_at(uint64_t address) const;

  const process::ProgramMemory& memory_;
  wire::Architecture architecture_;
  std::vector<Module> code_;  // ascending
  std::unordered_map<const elf::ModuleImage*, std::unique_ptr<elf::FrameTables>> tables_;
  std::unordered_map<uint64_t, unwind::Row> rows_;
  std::vector<uint64_t> window_;  // copy of the stack from window_begin_ on
  uint64_t window_begin_ = 0;
};

}  // namespace heaptap::scan
