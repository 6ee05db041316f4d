// Traced address space: its objects, their breakpoints, and the log of its events. A process has one; a vfork child
// uses its parent's.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/process/traced_memory.h"
#include "capture/tracer/breakpoint_table.h"
#include "capture/tracer/call_walk.h"
#include "capture/tracer/called_name.h"
#include "capture/tracer/loaded_objects.h"
#include "capture/tracer/log_writer.h"
#include "capture/tracer/unmappings.h"
#include "common/arch/cpu.h"
#include "common/model/note.h"

namespace heaptap::tracer {

class AddressSpace {
 public:
  // `thread`: any live thread of the process. `told` as in LoadedObjects.
  AddressSpace(pid_t thread, const arch::Cpu& cpu, const model::ToldFunctions* told = nullptr);
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // For the copy just made by a fork of the parent: takes over the breakpoints in it.
  void copy_from(const AddressSpace& parent);
  // Starts recording: notes the objects, plants breakpoints.
  void start(std::unique_ptr<LogWriter> log);
  // Keeps the objects and the breakpoints.
  void end_recording();
  // The loader reports that objects were loaded or unloaded.
  void look_at_objects();
  // The function chosen by an IFUNC's resolver.
  void add_resolved(uint64_t address, wire::Function function);

  [[nodiscard]] bool is_recording() const { return log_ != nullptr; }
  [[nodiscard]] const arch::Cpu& cpu() const { return cpu_; }
  [[nodiscard]] process::TracedMemory& memory() { return memory_; }
  [[nodiscard]] BreakpointTable& breakpoints() { return breakpoints_; }
  [[nodiscard]] const BreakpointTable& breakpoints() const { return breakpoints_; }
  [[nodiscard]] LogWriter& log() { return *log_; }
  [[nodiscard]] CallWalk& walk() { return *walk_; }
  [[nodiscard]] CalledName& called_name() { return called_name_; }
  [[nodiscard]] Unmappings& unmappings() { return unmappings_; }
  [[nodiscard]] const LoadedObjects& objects() const { return objects_; }

  // Pools and kinds of resources reported by the program, by the program's number.
  struct Pool {
    wire::LabelKind kind = wire::LabelKind::kNone;
    std::string name;
  };
  void add_pool(uint64_t number, Pool pool) { pools_[number] = std::move(pool); }
  // Null: unknown.
  [[nodiscard]] const Pool* pool(uint64_t number) const {
    const auto found = pools_.find(number);
    return found != pools_.end() ? &found->second : nullptr;
  }

  // Whether calls from there are no events (--omit).
  [[nodiscard]] bool omits(uint64_t address) const;
  // Whether releases from there are internal to an allocator.
  [[nodiscard]] bool releases_its_own(uint64_t address) const;
  // Whether calls from `address` below an operator at `called` belong to the program, or to the exception that the operator throws.
  [[nodiscard]] bool is_beside_operators(uint64_t called, uint64_t address) const;
  // Whether an object has C++ operators: the program may have static objects, whose destructors run at exit.
  [[nodiscard]] bool has_cpp() const;
  // Whether mapping calls from there are internal to the C library or an allocator.
  [[nodiscard]] bool is_allocators(uint64_t address) const;

  // Notes on missing data, once each.
  [[nodiscard]] std::vector<model::Note> take_notes();

 private:
  void object_came(uint32_t index);
  void plant_functions(uint32_t index);
  void plant_function(uint32_t object, const FoundFunction& function);
  void plant_exits(uint32_t object, const FoundFunction& function);
  void plant_notice();
  [[nodiscard]] bool is_wanted(const FoundFunction& function) const;
  void note_once(model::Note note);
  [[nodiscard]] model::Note note_of(model::NoteKind kind, uint32_t object, const FoundFunction& function) const;

  const arch::Cpu& cpu_;
  process::TracedMemory memory_;
  LoadedObjects objects_;
  CalledName called_name_;
  BreakpointTable breakpoints_;
  std::unique_ptr<LogWriter> log_;
  std::unique_ptr<CallWalk> walk_;
  Unmappings unmappings_;
  std::map<uint64_t, Pool> pools_;
  std::vector<bool> omitted_;  // by object
  std::set<model::Note> known_notes_;
  std::vector<model::Note> notes_;
  size_t object_notes_ = 0;  // number of objects_.notes() already taken
};

}  // namespace heaptap::tracer
