// Loaded objects of a traced process, with the addresses of the functions to watch. Found through the auxiliary vector,
// the loader's list (r_debug) and the memory map; symbols come from the objects' files, their separate debug files, or
// the process's memory. Word size and byte order are the target's. Trusts no byte.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/process/traced_memory.h"
#include "capture/tracer/spoken_names.h"
#include "common/arch/cpu.h"
#include "common/base/address_range.h"
#include "common/model/note.h"
#include "common/model/told_functions.h"
#include "common/wire/functions.h"

namespace heaptap::tracer {

// Reasons for watching a function.
enum class Watch : uint8_t {
  kCall,      // one of common/wire/functions.def
  kResolver,  // an IFUNC's resolver: its result is the function
  kExit,      // exit, quick_exit: the caller's stack is no longer used
  kLastExit,  // _exit, _Exit: the process ends
  kStack,     // sigaltstack: sets a stack for the thread's signal handlers
  kClone,     // clone: the new task must be traced
  kNumber,    // syscall: may be clone, by number
  kTrace,     // ptrace: may request tracing by the parent
  kAction,    // sigaction: may change the action for SIGTRAP
  kMask,      // pthread_sigmask, sigprocmask: may block SIGTRAP
  kSpoken,    // API function (include/heaptap/heaptap.h)
  // Of glibc, for the agent that is put into a process (capture/inject): no breakpoints.
  kInnerAction,  // __libc_sigaction, which all ways lead to; not each version exports it
  kControl,      // prctl: may restrict the process
};

// Argument convention of an allocator function with another name than the function of common/wire/functions.def that its calls
// are recorded as. Such a function has a frame of its own in stacks.
enum class Form : uint8_t {
  kPlain,    // it is that function
  kAlike,    // same arguments, possibly followed by more
  kInArena,  // an arena comes first
  kText,     // returns a text that fits its block
  kWideText,
  kPrinted,  // as asprintf: the first argument points to the place for the text, the result is its length
};

struct FoundFunction {
  uint64_t address = 0;
  uint64_t size_bytes = 0;  // 0: unknown
  Watch watch = Watch::kCall;
  wire::Function function = wire::Function::kNone;  // for kCall and kResolver
  ApiCall api_call = ApiCall::kNone;                // for kSpoken
  Form form = Form::kPlain;                         // for kCall
  bool is_told = false;                             // identified by another machine
};

struct LoadedObject {
  std::string path;  // in the target; for the vDSO its own name, as the agent reports it
  uint64_t bias = 0;
  uint64_t start = 0;  // of its mapped range
  uint64_t end = 0;
  std::array<uint8_t, 32> build_id{};
  uint8_t build_id_bytes = 0;
  uint8_t flags = 0;       // wire::ModuleFlag
  bool is_loader = false;  // the dynamic loader
  bool is_go = false;      // made by the Go tools, possibly with some C code
  bool is_libc = false;    // defines the C library's allocation functions or related ones (mmap …)
  // Code whose calls of free release blocks internal to the allocator (glibc's, at a thread's end). Empty: none known.
  base::AddressRange allocator;
  // Code whose allocations are exceptions: not part of an operator new that throws. Empty: none known.
  base::AddressRange exceptions;
  std::vector<base::AddressRange> code;
  std::vector<FoundFunction> functions;  // ascending by address; several of one address are adjacent
  uint64_t unwind_header = 0;            // .eh_frame_hdr in memory; 0: none
  uint64_t unwind_table = 0;             // .eh_frame in memory; 0: none or unknown
  uint64_t unwind_table_bytes = 0;
  // .debug_frame, in the object's file or its separate debug file: used where .eh_frame has nothing. LoadedObjects owns
  // the descriptor.
  int frame_file = -1;
  uint64_t frame_offset = 0;
  uint64_t frame_bytes = 0;  // 0: none
};

// Whether mappings that this object makes are no event of the program: the C library, the loader, an allocator.
bool maps_for_itself(const LoadedObject& object);

// Whether it defines operators of C++.
bool has_operators(const LoadedObject& object);

// Word of an object that its loader fills with the address of the named function, now or later.
struct NamedSlot {
  uint64_t address = 0;
  wire::Function function = wire::Function::kNone;
};

class LoadedObjects {
 public:
  // For the process of `thread`: reads its memory through `memory`, and /proc/TID/{auxv,maps,map_files,root,exe} of a
  // live thread of it. `told` must outlive it; null: no machine was asked.
  LoadedObjects(pid_t thread, process::TracedMemory& memory, const arch::Cpu& cpu,
                const model::ToldFunctions* told = nullptr);
  ~LoadedObjects();
  LoadedObjects(const LoadedObjects&) = delete;
  LoadedObjects& operator=(const LoadedObjects&) = delete;

  // Call before the first refresh() of a forked process: objects inherited from its parent aren't read again, and keep
  // their index. Its copies come with the first refresh().
  void inherit(const LoadedObjects& parent);

  // Updates the list. Indices of objects() never change; an unloaded object stays, with `loaded(index)` false. If the
  // same file is mapped at the same place again, its index is reused.
  struct Changes {
    std::vector<uint32_t> came;
    std::vector<uint32_t> went;
  };
  Changes refresh();

  [[nodiscard]] const std::vector<LoadedObject>& objects() const;
  [[nodiscard]] bool loaded(uint32_t index) const;
  // Index of the loaded object that contains the address; -1: none.
  [[nodiscard]] int find(uint64_t address) const;

  // Breakpoint address for loading and unloading (r_brk); 0: unknown (so far), or nothing is ever loaded.
  [[nodiscard]] uint64_t change_notice() const;
  // True once the loader's list is complete (RT_CONSISTENT), or where there is no loader.
  [[nodiscard]] bool is_consistent() const;
  // The program's entry point: there all objects that it was linked with are loaded.
  [[nodiscard]] uint64_t entry() const;

  // Functions of already resolved IFUNCs, from the objects' relocated tables.
  [[nodiscard]] std::vector<FoundFunction> resolved_functions();

  // Slots through which an object calls watched functions. Reads its relocations again.
  [[nodiscard]] std::vector<NamedSlot> named_slots(uint32_t index) const;

  // Notes for the user on unreadable data.
  [[nodiscard]] const std::vector<model::Note>& notes() const;

 private:
  struct State;
  State* state_;
};

}  // namespace heaptap::tracer
