// What a scan of the target's memory for leaks speaks of on both sides: kinds of roots, ranges of them, kinds of pointers.
// Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::wire {

// Where a pointer can be that keeps a block alive by itself.
enum class RootKind : uint8_t {
  kGlobal = 0,       // a module's writable data
  kMapping = 1,      // other writable memory that is no heap: what the program mapped itself
  kStack = 2,        // the live part of a thread's stack
  kRegister = 3,     // a general or vector register of a thread
  kThreadLocal = 4,  // static and dynamic thread-local storage, and what the C library keeps for the thread beside it
  kAlternateStack = 5,  // of sigaltstack
  kContextStack = 6,    // of an inactive ucontext
  kKernel = 7,          // no memory: a word that the kernel keeps for the program, and gives back with an event
};
inline constexpr unsigned kRootKindCount = 8;
constexpr uint8_t root_bit(RootKind kind) { return static_cast<uint8_t>(1u << static_cast<unsigned>(kind)); }
inline constexpr const char* kRootKindNames[kRootKindCount] = {
    "global", "mapping", "stack", "register", "thread-local", "alternate-stack", "context-stack", "kernel"};
inline constexpr uint8_t kAllRootKinds = (1u << kRootKindCount) - 1;

// How a word points to a block.
enum class PointerKind : uint8_t {
  kStart = 0,
  kInterior = 1,  // into its middle: by itself it may be chance
  // Into its middle, but in a way that C++ programs are known to hold a block by. As good as a pointer to its start.
  kArrayCookie = 2,          // behind the count that new[] keeps in front of elements with destructors
  kMultipleInheritance = 3,  // to a base class's part: the block begins with a vtable, and so does what is pointed at
  kStdString = 4,            // to the characters behind a reference-counted string's head
  kLength64 = 5,             // behind a 64-bit length at the block's start that fits the block's size
  // Into its middle, where nearly all blocks of its stack or call are pointed at first: behind what the function that
  // allocates them keeps in front. As good as a pointer to its start, too.
  kHeader = 6,
  // To its start, but for the upper 16 or 17 bits or the lowest three; or how far it is from the block with the word. It may be chance.
  kTagged = 7,
  // The same with the lowest two bits alone, from a block that the same call allocated: trees keep the colours of their nodes so.
  // As good as a pointer to its start.
  kMarked = 8,
  // Into its middle, where the program has aligned it by hand. As good as a pointer to its start.
  kAligned = 9,
};
inline constexpr unsigned kPointerKindCount = 10;

inline constexpr uint32_t kNoModule = 0xffffffff;

// A piece of memory to be searched for pointers.
struct RootRange {
  uint64_t begin;  // inclusive, a multiple of the word size
  uint64_t end;    // exclusive
  RootKind kind;
  uint32_t thread_id;  // the kernel's; 0: of no thread
  // Code that is made as the program runs has pointers among its instructions, at any byte.
  bool has_code = false;
};
static_assert(sizeof(RootRange) == 32);

// A value that is a root by itself: a register, or what the kernel keeps.
struct RootWord {
  uint64_t value;
  uint32_t thread_id;
  uint16_t register_number;  // as DWARF numbers the CPU's; else 0
  RootKind kind = RootKind::kRegister;
};
static_assert(sizeof(RootWord) == 16);

// Memory that a thread's code runs on besides the thread's own stack, as the program told the kernel or the C library.
struct StackArea {
  uint64_t begin;
  uint64_t end;
  uint64_t context;    // kContextStack: address of the ucontext_t that it was made for; else 0
  uint32_t thread_id;  // of the thread that set it up; 0: not known
  RootKind kind;       // kAlternateStack or kContextStack
};
static_assert(sizeof(StackArea) == 32);

// A frame of a thread's live stack, innermost first: which function's memory a word on the stack lies in.
struct StackFrame {
  uint64_t cfa;   // the frame's memory ends here
  uint64_t code;  // address in the frame's code: for the innermost the next instruction, for others the return address
  uint32_t thread_id;
};
static_assert(sizeof(StackFrame) == 24);

}  // namespace heaptap::wire
