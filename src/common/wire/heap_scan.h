// Shared types of leak scans, for the collector and the readers: kinds of roots, root ranges, kinds of pointers.
// Freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::wire {

// Place of a root pointer: one that keeps a block alive by itself.
enum class RootKind : uint8_t {
  kGlobal = 0,          // a module's writable data
  kMapping = 1,         // other writable memory that is no heap: mapped by the program itself
  kStack = 2,           // the live part of a thread's stack
  kRegister = 3,        // a general or vector register of a thread
  kThreadLocal = 4,     // static and dynamic thread-local storage, and the C library's per-thread data beside it
  kAlternateStack = 5,  // of sigaltstack
  kContextStack = 6,    // of an inactive ucontext
  kKernel = 7,          // no memory: a word that the kernel stores for the program and returns with an event
};
inline constexpr unsigned kRootKindCount = 8;
constexpr uint8_t root_bit(RootKind kind) { return static_cast<uint8_t>(1u << static_cast<unsigned>(kind)); }
inline constexpr const char* kRootKindNames[kRootKindCount] = {
    "global", "mapping", "stack", "register", "thread-local", "alternate-stack", "context-stack", "kernel"};
inline constexpr uint8_t kAllRootKinds = (1u << kRootKindCount) - 1;

// Kinds of pointers from a word to a block.
enum class PointerKind : uint8_t {
  kStart = 0,
  kInterior = 1,  // into its middle, or right behind its end if nothing else points to it: may be a coincidence
  // Into its middle, but in a pattern known from C++ programs. Counts as much as a pointer to its start.
  kArrayCookie = 2,  // after the element count that new[] stores before elements with destructors
  kMultipleInheritance =
      3,           // to a base class subobject: both the block and the pointed-to place begin with a vtable pointer
  kStdString = 4,  // to the characters after a reference-counted string's head
  kLength64 = 5,   // after a 64-bit length at the block's start that fits the block's size
  // Into its middle, at the offset at which nearly all blocks of its stack or call are first pointed to: after a header
  // written by the allocating function. Counts as much as a pointer to its start.
  kHeader = 6,
  // To its start, but with the upper 16 or 17 or the lowest three bits changed; or a distance relative to the word. May be a coincidence.
  kTagged = 7,
  // Same, with only the lowest two bits changed, from a block allocated by the same call: trees store node colours so.
  // Counts as much as a pointer to its start.
  kMarked = 8,
  // Into its middle, at an alignment made by the program. Counts as much as a pointer to its start.
  kAligned = 9,
};
inline constexpr unsigned kPointerKindCount = 10;

inline constexpr uint32_t kNoModule = 0xffffffff;

// Memory range that is searched for pointers.
struct alignas(8) RootRange {  // i386 would align its 64-bit numbers at 4 bytes
  uint64_t begin;              // inclusive, a multiple of the word size
  uint64_t end;                // exclusive
  RootKind kind;
  uint32_t thread_id;  // the kernel's; 0: no thread
  // Generated code: contains pointers within instructions, at any byte.
  bool has_code = false;
};
static_assert(sizeof(RootRange) == 32);

// In place of a DWARF number: a vector register, which one isn't known.
inline constexpr uint16_t kSomeVectorRegister = 0xffff;

// Single root value: a register, or a word stored by the kernel.
struct RootWord {
  uint64_t value;
  uint32_t thread_id;
  uint16_t register_number;  // DWARF number of the CPU's register; else 0
  RootKind kind = RootKind::kRegister;
};
static_assert(sizeof(RootWord) == 16);

// Stack that a thread runs on besides its own, as reported by the program to the kernel or the C library.
struct StackArea {
  uint64_t begin;
  uint64_t end;
  uint64_t context;    // kContextStack: address of its ucontext_t; else 0
  uint32_t thread_id;  // the thread that set it up; 0: unknown
  RootKind kind;       // kAlternateStack or kContextStack
};
static_assert(sizeof(StackArea) == 32);

// Frame of a thread's live stack, innermost first: maps a word on the stack to the function that owns it.
struct alignas(8) StackFrame {
  uint64_t cfa;   // the frame's memory ends here
  uint64_t code;  // address in the frame's code: for the innermost the next instruction, for others the return address
  uint32_t thread_id;
};
static_assert(sizeof(StackFrame) == 24);

}  // namespace heaptap::wire
