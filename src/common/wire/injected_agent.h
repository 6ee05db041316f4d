// Contract between the agent that is put into a running process and what puts it there (capture/inject). The agent's image exports one
// symbol, kInjectedAgentSymbol: this structure. The injector reads what the image says of itself, fills in the rest in the image's copy,
// and maps that into the process. Freestanding; both are of one build, on one machine.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::wire {

inline constexpr uint64_t kInjectedAgentMagic = 0x31544e4950415448;  // "HTAPINT1"
inline constexpr char kInjectedAgentSymbol[] = "heaptap_injected_agent";
inline constexpr char kInjectedAgentFileName[] = "libheaptap_injected.so";

// How calls of a function are recorded.
enum class InjectedWay : uint8_t {
  kRelease,             // before the function runs, which nobody waits for
  kAllocate,            // when it returns
  kStandardNew,         // when `call` returns, which is malloc: the C++ library's operator new
  kStandardAlignedNew,  // the same with an alignment; `call` is aligned_alloc
  kAlignedNew,          // another library's operator new with an alignment; `call` is its aligned_alloc
  kMapping,             // around the function, which the hook calls: mmap and its relatives
  kExit,                // before it runs destructors and handlers: exit, quick_exit
  kLastExit,            // before it ends the process
  // By the hook, which calls the function where it has to. No events.
  kSignalAction,  // sigaction: the agent's handlers are hidden
  kControl,       // prctl: the agent obeys restrictions that the process puts on itself
  kNumber,        // syscall: both
};
constexpr bool ends_process(InjectedWay way) { return way == InjectedWay::kExit || way == InjectedWay::kLastExit; }
constexpr bool is_about_process(InjectedWay way) { return way >= InjectedWay::kSignalAction; }

// A function that is hooked. Its number is its place in the table, which ascends by address.
struct InjectedFunction {
  uint64_t begin;  // its code: what that calls is no event of the program
  uint64_t end;
  uint64_t original;  // how the function itself is called
  uint64_t call;      // called in its place, never throws; if it fails the function itself runs. 0: as `original`
  uint8_t function;   // wire::Function
  InjectedWay way;
  uint8_t padding[6];
};
inline constexpr unsigned kMaxInjectedFunctions = 160;

// Addresses of code, such as around some of these functions, which lie close together.
struct InjectedSpan {
  uint64_t begin;
  uint64_t end;
  [[nodiscard]] bool holds(uint64_t address) const { return address - begin < end - begin; }
};
inline constexpr unsigned kMaxInjectedSpans = 4;
inline constexpr unsigned kMaxMappingOwners = 16;
inline constexpr unsigned kMaxInjectedAreas = 16;
inline constexpr unsigned kMaxInjectedMappings = 64;

struct InjectedModule {
  static constexpr size_t kMaxPathBytes = 512;
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  uint64_t unwind_header;  // .eh_frame_hdr; 0: none
  uint64_t tables_start;   // the readable segment that holds the unwind tables
  uint64_t tables_end;
  uint64_t entry;  // entry point of the program and of the loader; 0: none
  uint32_t build_id_bytes;
  uint8_t is_main;
  uint8_t is_vdso;
  uint8_t is_go;
  uint8_t build_id[32];
  char path[kMaxPathBytes];
};
inline constexpr unsigned kMaxInjectedModules = 256;

// What a stopped thread does for the injector, in InjectedAgent::enter.
enum class InjectedOrder : uint64_t {
  kBegin = 0,            // begins a session. Its result is an InjectedStart
  kTakeSignals = 1,      // handles fatal signals at their default from here on
  kGiveBackSignals = 2,  // no longer. Its result is how many there were
};
inline constexpr uint64_t kNoResult = UINT64_MAX;
inline constexpr uint64_t kNotObeyed = UINT64_MAX - 1;  // it can't, now

// Result of InjectedOrder::kBegin.
enum class InjectedStart : uint64_t {
  kRecording = 0,
  kNoSession = 1,       // the core has refused the log
  kUnknownLibrary = 2,  // the C library keeps a thread's number elsewhere
};

// Code that is replaced.
struct InjectedSite {
  static constexpr size_t kMaxBytes = 24;
  uint64_t address;
  uint64_t entry;  // where it leads to then
  uint64_t bytes;
  uint8_t patch[kMaxBytes];
  uint8_t program[kMaxBytes];
};

// As rt_sigaction(2) has it.
struct InjectedAction {
  void (*handler)(int number, int* info, void* context);  // 0: the default; 1: ignored
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

struct InjectedAgent {
  uint64_t magic;
  uint64_t bytes;  // of this structure
  // Of an order: written by who obeys it, once that uses its stack no more. The injector sets kNoResult before.
  uint64_t result;
  // Of the image: relative to it in the file, addresses once its relocations are applied.
  const void* enter;            // for a stopped thread, which obeys `order` there, and then waits to be stopped again
  const void* enter_end;        // of that code
  const void* enter_stack_top;  // for that
  const void* state;            // of the session, 32 bits: the injector sets it to `state_off` when it detaches
  const void* threads;          // what threads are doing: InjectedThread is the beginning of an entry
  uint64_t state_off;
  uint64_t thread_count;
  uint64_t thread_bytes;       // of an entry
  const void* hooks;           // the first one of kMaxInjectedFunctions
  uint64_t hook_bytes;         // from one to the next
  InjectedAction trap_action;  // of SIGTRAP, while breakpoints stand in the program's code
  // Written by calls that the injector has made.
  InjectedAction programs_trap_action;  // before that
  InjectedAction trap_action_now;
  // Filled in by the injector. Addresses in the process.
  InjectedOrder order;  // the last one
  uint64_t log;
  uint64_t log_bytes;
  uint64_t code_start;  // of the whole mapping of the agent
  uint64_t code_bytes;
  uint64_t allocator_start;  // code whose calls are the allocator's own
  uint64_t allocator_end;
  uint64_t first_stack;   // start of the first thread's stack
  uint64_t loader_start;  // code of the dynamic loader, which calls the allocator as it loads and unloads
  uint64_t loader_end;
  uint64_t loader_state;  // its r_debug (<link.h>); 0: unknown
  uint64_t find_object;   // _dl_find_object; 0: glibc before 2.35
  uint64_t span_count;
  InjectedSpan spans[kMaxInjectedSpans];  // together around all functions that call others
  // Objects that map memory for themselves: the C library, the loader, allocators.
  uint64_t mapping_owner_count;
  InjectedSpan mapping_owners[kMaxMappingOwners];
  InjectedSpan library;      // code of the C library: where it calls exit, main has returned
  uint64_t has_destructors;  // not 0: of static objects, as far as known
  uint64_t
      answers_ends;  // not 0: the injector answers what is offered at the program's end. Changes while the agent is at work
  // For a later injector, should this one be killed.
  uint64_t process;         // that it was put into
  uint64_t injector;        // its process
  uint64_t injector_start;  // of that, in kernel ticks since boot
  uint64_t area_count;
  InjectedSpan areas[kMaxInjectedAreas];  // mappings with code
  uint64_t other_count;
  InjectedSpan others[kMaxInjectedMappings];  // the log, and what the agent has mapped
  uint64_t site_count;
  InjectedSite sites[kMaxInjectedFunctions];
  uint64_t function_count;
  InjectedFunction functions[kMaxInjectedFunctions];
  uint64_t module_count;
  InjectedModule modules[kMaxInjectedModules];
};

struct InjectedThread {
  uint64_t block;  // control block of the thread; 0: unused
  uint32_t
      is_within;    // not 0: it is in the agent, or in a function that the agent has called, or has left one by longjmp
  uint32_t number;  // of the thread, in its own namespace
};

}  // namespace heaptap::wire
