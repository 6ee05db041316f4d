// The objects that are loaded in a traced process, and where the functions in them are that the tracer has to watch. Found
// by the auxiliary vector, the loader's list (r_debug) and the memory map; names come from the objects' files, their separate
// debug files, or the process's memory. Word size and byte order are the target's. Trusts no byte.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/cpu.h"
#include "base/address_range.h"
#include "model/note.h"
#include "model/told_functions.h"
#include "process/traced_memory.h"
#include "tracer/spoken_names.h"
#include "wire/functions.h"

namespace heaptap::tracer {

// Functions that are watched for another reason than to record their calls.
enum class Watch : uint8_t {
  kCall,      // one of wire/functions.def
  kResolver,  // an IFUNC's resolver: what it returns is the function
  kExit,      // exit, quick_exit: the caller's stack ends to matter
  kLastExit,  // _exit, _Exit: the process ends
  kStack,     // sigaltstack: the thread's signal handlers get a stack
  kClone,     // clone: what it makes has to be traced
  kNumber,    // syscall: by its number it may be clone
  kTrace,     // ptrace: it may ask to be traced by its parent
  kAction,    // sigaction: what is done about SIGTRAP
  kMask,      // pthread_sigmask, sigprocmask: whether SIGTRAP is blocked
  kSpoken,    // the program tells of itself
};

// How a function of an allocator takes what it is asked for, that has another name than the one of wire/functions.def that its calls are
// recorded as. Such a function has a frame of its own in stacks.
enum class Form : uint8_t {
  kPlain,    // it is that one
  kAlike,    // as that one does, or with more behind it
  kInArena,  // behind an arena
  kText,     // it gives a text that fits its block
  kWideText,
  kPrinted,  // as asprintf: the first argument is where the text goes, the result is how long that is
};

struct FoundFunction {
  uint64_t address = 0;
  uint64_t size_bytes = 0;  // 0: not known
  Watch watch = Watch::kCall;
  wire::Function function = wire::Function::kNone;  // of kCall and kResolver
  Spoken spoken = Spoken::kNone;                    // of kSpoken
  Form form = Form::kPlain;                         // of kCall
  bool is_told = false;                             // what it is another machine says
};

struct LoadedObject {
  std::string path;  // as the target sees it; of the vDSO what it calls itself, as the agent tells it
  uint64_t bias = 0;
  uint64_t start = 0;  // of its mapped range
  uint64_t end = 0;
  std::array<uint8_t, 32> build_id{};
  uint8_t build_id_bytes = 0;
  uint8_t flags = 0;       // wire::ModuleFlag
  bool is_loader = false;  // the dynamic loader
  bool is_go = false;      // made by the Go tools, perhaps with C code among it
  bool is_libc = false;    // defines the C library's allocation functions or their kin (mmap …) among others
  // What calls free from here gives back blocks that only the allocator knows (glibc's, at a thread's end). Empty: none known.
  base::AddressRange allocator;
  // What allocates from here makes an exception: no part of an operator new that throws it. Empty: none known.
  base::AddressRange exceptions;
  std::vector<base::AddressRange> code;
  std::vector<FoundFunction> functions;  // ascending by address; several of one address side by side
  uint64_t unwind_header = 0;            // .eh_frame_hdr in memory; 0: none
  uint64_t unwind_table = 0;             // .eh_frame in memory; 0: none or not known
  uint64_t unwind_table_bytes = 0;
  // .debug_frame, in the object's file or in its separate debug file: what the walk reads where .eh_frame has nothing. The
  // descriptor is LoadedObjects'.
  int frame_file = -1;
  uint64_t frame_offset = 0;
  uint64_t frame_bytes = 0;  // 0: none
};

// A word of an object that its loader has filled, or will, with the address of the function of that name.
struct NamedSlot {
  uint64_t address = 0;
  wire::Function function = wire::Function::kNone;
};

class LoadedObjects {
 public:
  // Of the process that `thread` belongs to: its memory is read through `memory`; /proc/TID/{auxv,maps,map_files,root,exe} of
  // a thread of it that is alive are read as well. `told` outlives it; null: nobody was asked.
  LoadedObjects(pid_t thread, process::TracedMemory& memory, const arch::Cpu& cpu,
                const model::ToldFunctions* told = nullptr);
  ~LoadedObjects();
  LoadedObjects(const LoadedObjects&) = delete;
  LoadedObjects& operator=(const LoadedObjects&) = delete;

  // Before the first look at a process that was forked: what it has of its parent's objects isn't read again, and keeps its
  // index. Its copies come with the first refresh().
  void inherit(const LoadedObjects& parent);

  // Looks again. Indices of objects() never change; one that is gone stays, with `loaded(index)` false. Where the same file
  // is mapped at the same place again, its index comes again.
  struct Changes {
    std::vector<uint32_t> came;
    std::vector<uint32_t> went;
  };
  Changes refresh();

  [[nodiscard]] const std::vector<LoadedObject>& objects() const;
  [[nodiscard]] bool loaded(uint32_t index) const;
  // Index of the loaded object that holds the address; -1: none.
  [[nodiscard]] int find(uint64_t address) const;

  // A breakpoint there tells when objects came or went (r_brk); 0: it isn't known (yet), or nothing is ever loaded.
  [[nodiscard]] uint64_t change_notice() const;
  // True from the moment the loader's list is whole (RT_CONSISTENT), or where there is no loader.
  [[nodiscard]] bool is_consistent() const;
  // The program's own first instruction: there all objects that it was linked with are loaded.
  [[nodiscard]] uint64_t entry() const;

  // Functions of IFUNCs that were resolved already, from the objects' relocated tables.
  [[nodiscard]] std::vector<FoundFunction> resolved_functions();

  // Through which an object calls what is watched. Reads its relocations anew.
  [[nodiscard]] std::vector<NamedSlot> named_slots(uint32_t index) const;

  // What couldn't be read, for the user.
  [[nodiscard]] const std::vector<model::Note>& notes() const;

 private:
  struct State;
  State* state_;
};

}  // namespace heaptap::tracer
