#include "capture/inject/return_frame.h"

#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/arch/native.h"
#include "common/base/sizes.h"

namespace heaptap::inject {

#ifdef __x86_64__

namespace {

using process::Mapping;

constexpr size_t kMaxLibraryCodeBytes = size_t{8} << 20;
constexpr uint64_t kMaxGuardBytes = 1u << 20;
constexpr uint64_t kRedZone = 128;

constexpr std::array<uint8_t, 3> kCallAndReturn = {0x0f, 0x05, 0xc3};  // syscall; ret
constexpr const arch::SignalTrampoline& kReturnFromSignal = arch::native::kSignalTrampolines[0];

// As the kernel has it for the return from a signal handler (arch/x86/include/asm/sigframe.h, uapi/asm/ucontext.h, uapi/asm/sigcontext.h).
struct SignalFrame {
  uint64_t return_address;
  uint64_t flags;
  uint64_t link;
  uint64_t stack_start;
  uint64_t stack_flags;
  uint64_t stack_bytes;
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
  uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
  uint64_t eflags;
  uint16_t cs, gs, fs, ss;
  uint64_t error, trap, old_mask, fault;
  uint64_t vectors;
  uint64_t reserved[8];
  uint64_t mask;
};
static_assert(offsetof(SignalFrame, r8) == 48 && offsetof(SignalFrame, vectors) == 8 + 40 + 184 &&
              offsetof(SignalFrame, mask) == 8 + 40 + 256);
constexpr uint64_t kFrameFlags =
    1 | 2 | 4;                         // the vectors are of XSAVE; the stack segment is there, and is to be restored
constexpr uint64_t kNoStackFlags = 7;  // no valid ones: the alternate stack stays as it is

// What the frame says of the vectors in bytes that XSAVE leaves free (struct _fpx_sw_bytes), and behind them.
struct VectorsNote {
  uint32_t magic;
  uint32_t bytes;  // with the word behind them
  uint64_t components;
  uint32_t state_bytes;
  uint32_t padding[7];
};
constexpr size_t kNotePlace = 464;
static_assert(sizeof(VectorsNote) == 512 - kNotePlace);
constexpr uint32_t kMagic = 0x46505853;
constexpr uint32_t kMagicBehind = 0x46505845;
constexpr uint64_t kVectorsAlignment = 64;
constexpr size_t kHeaderPlace = 512;  // of XSAVE: first the components that aren't in their initial state
constexpr size_t kHeaderBytes = 64;

// What the kernel takes from a signal's frame: of the image that ptrace gives, which has room for all that this CPU has, without those
// components that this thread hasn't asked for, or doesn't use.
struct VectorsOfFrame {
  uint64_t components;
  size_t bytes;
};
VectorsOfFrame vectors_of_frame(std::span<const uint8_t> image) {
  constexpr unsigned kFirstExtended = 2;
  constexpr unsigned kComponents = 63;
  uint64_t in_use = 0;
  VectorsOfFrame found{.components = 0, .bytes = kHeaderPlace + kHeaderBytes};
  std::memcpy(&in_use, image.data() + kHeaderPlace, sizeof(in_use));
  std::memcpy(&found.components, image.data() + kNotePlace, sizeof(found.components));  // XCR0, where ptrace tells it
  for (unsigned i = kFirstExtended; i < kComponents; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if ((found.components & bit) == 0) continue;
    const auto component = arch::native::vector_component(i);
    const size_t end = size_t{component.offset} + component.bytes;
    const bool is_absent = (component.flags & arch::native::kNeedsPermission) != 0 && (in_use & bit) == 0;
    if (is_absent || end > image.size()) {
      found.components &= ~bit;
    } else {
      found.bytes = std::max(found.bytes, end);
    }
  }
  return found;
}

bool is_c_library(const Mapping& mapping) {
  if (!mapping.executable || !mapping.has_file()) return false;
  const std::string_view path = mapping.name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-");
}

base::AddressRange find(std::span<const uint8_t> code, std::span<const uint8_t> wanted, uint64_t start) {
  const auto found = std::ranges::search(code, wanted);
  const uint64_t at = start + static_cast<uint64_t>(found.begin() - code.begin());
  return {at, at + found.size()};
}

// A system call that the kernel would have repeated as it resumed the thread: the frame repeats it by itself.
void repeat_interrupted_call(user_regs_struct& registers) {
  constexpr int64_t kFirst = -516;  // ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ENOIOCTLCMD, ERESTART_RESTARTBLOCK
  constexpr int64_t kLast = -512;
  constexpr int64_t kNoSuchCommand = -515;
  const auto result = static_cast<int64_t>(registers.rax);
  const bool is_in_call = static_cast<int64_t>(registers.orig_rax) >= 0;
  if (!is_in_call || result < kFirst || result > kLast || result == kNoSuchCommand) return;
  registers.rax = registers.orig_rax;
  registers.rip -= 2;
}

// Whether the memory below this stack pointer, up to the mapping's start, is this thread's alone.
bool is_own_stack(const std::vector<Mapping>& map, const Mapping& stack, const user_regs_struct& registers) {
  if (stack.is_kernels("[stack]")) return true;
  if (!stack.is_anonymous() || registers.fs_base <= registers.rsp || !stack.range.contains(registers.fs_base) ||
      &stack == map.data())
    return false;
  const Mapping& guard = *std::prev(&stack);
  return guard.range.end == stack.range.begin && !guard.readable && !guard.writable &&
         guard.range.size() <= kMaxGuardBytes;
}

}  // namespace

ReturnCode find_return_code(const std::vector<Mapping>& map, const process::TracedMemory& memory) {
  ReturnCode found;
  std::vector<uint8_t> code;
  for (const Mapping& mapping : map) {
    if (found.is_there()) break;
    if (!is_c_library(mapping)) continue;
    code.resize(base::at_most(kMaxLibraryCodeBytes, mapping.range.size()));
    code.resize(memory.read_some(mapping.range.begin, code.data(), code.size()));
    if (found.call.size() == 0) found.call = find(code, kCallAndReturn, mapping.range.begin);
    if (found.signal.size() == 0)
      found.signal =
          find(code, std::span(kReturnFromSignal.code).first(kReturnFromSignal.code_bytes), mapping.range.begin);
  }
  return found;
}

std::optional<ReturnFrame> make_return_frame(const InterruptedThread& thread, const std::vector<Mapping>& map,
                                             const ReturnCode& code) {
  user_regs_struct registers{};
  std::memcpy(&registers, thread.registers.bytes, sizeof(registers));
  const Mapping* const stack = process::find_mapping(map, registers.rsp);
  if (stack == nullptr || !stack->writable || !is_own_stack(map, *stack, registers)) return std::nullopt;
  if (thread.vectors.size() < kHeaderPlace + kHeaderBytes || !code.is_there()) return std::nullopt;

  const VectorsOfFrame state = vectors_of_frame(thread.vectors);
  const size_t all_vectors = state.bytes + sizeof(kMagicBehind);
  const uint64_t vectors_at = (registers.rsp - kRedZone - all_vectors) & ~(kVectorsAlignment - 1);
  const uint64_t at = (vectors_at - sizeof(SignalFrame)) & ~uint64_t{15};
  if (at > registers.rsp || at < stack->range.begin) return std::nullopt;

  repeat_interrupted_call(registers);
  SignalFrame frame{};
  frame.return_address = code.signal.begin;
  frame.flags = kFrameFlags;
  frame.stack_flags = kNoStackFlags;
  frame.r8 = registers.r8, frame.r9 = registers.r9, frame.r10 = registers.r10, frame.r11 = registers.r11;
  frame.r12 = registers.r12, frame.r13 = registers.r13, frame.r14 = registers.r14, frame.r15 = registers.r15;
  frame.rdi = registers.rdi, frame.rsi = registers.rsi, frame.rbp = registers.rbp, frame.rbx = registers.rbx;
  frame.rdx = registers.rdx, frame.rax = registers.rax, frame.rcx = registers.rcx;
  frame.rsp = registers.rsp, frame.rip = registers.rip, frame.eflags = registers.eflags;
  frame.cs = static_cast<uint16_t>(registers.cs), frame.ss = static_cast<uint16_t>(registers.ss);
  frame.gs = static_cast<uint16_t>(registers.gs), frame.fs = static_cast<uint16_t>(registers.fs);
  frame.vectors = vectors_at;
  frame.mask = thread.mask;

  ReturnFrame made{.place = at, .bytes = std::vector<uint8_t>(base::size_of_known(vectors_at - at) + all_vectors)};
  uint8_t* const vectors = made.bytes.data() + (vectors_at - at);
  std::memcpy(made.bytes.data(), &frame, sizeof(frame));
  std::memcpy(vectors, thread.vectors.data(), state.bytes);
  const VectorsNote note{.magic = kMagic,
                         .bytes = static_cast<uint32_t>(all_vectors),
                         .components = state.components,
                         .state_bytes = static_cast<uint32_t>(state.bytes),
                         .padding = {}};
  std::memcpy(vectors + kNotePlace, &note, sizeof(note));
  std::memcpy(vectors + state.bytes, &kMagicBehind, sizeof(kMagicBehind));
  return made;
}

std::optional<InterruptedThread> read_interrupted(uint64_t context, const process::TracedMemory& memory) {
  SignalFrame frame{};
  if (memory.read_some(context - sizeof(frame.return_address), &frame, sizeof(frame)) != sizeof(frame))
    return std::nullopt;
  user_regs_struct registers{};
  registers.r8 = frame.r8, registers.r9 = frame.r9, registers.r10 = frame.r10, registers.r11 = frame.r11;
  registers.r12 = frame.r12, registers.r13 = frame.r13, registers.r14 = frame.r14, registers.r15 = frame.r15;
  registers.rdi = frame.rdi, registers.rsi = frame.rsi, registers.rbp = frame.rbp, registers.rbx = frame.rbx;
  registers.rdx = frame.rdx, registers.rax = frame.rax, registers.rcx = frame.rcx;
  registers.rsp = frame.rsp, registers.rip = frame.rip, registers.eflags = frame.eflags;
  InterruptedThread thread{
      .registers = {.size = sizeof(registers)}, .vectors = std::vector<uint8_t>(kHeaderPlace), .mask = frame.mask};
  std::memcpy(thread.registers.bytes, &registers, sizeof(registers));
  VectorsNote note{};
  if (memory.read_some(frame.vectors + kNotePlace, &note, sizeof(note)) == sizeof(note) && note.magic == kMagic)
    thread.vectors.resize(std::clamp<size_t>(note.state_bytes, kHeaderPlace, arch::native::kVectorImageBytes));
  thread.vectors.resize(memory.read_some(frame.vectors, thread.vectors.data(), thread.vectors.size()));
  return thread;
}

arch::RegisterImage registers_to_return(const arch::RegisterImage& registers, const ReturnFrame& frame,
                                        const ReturnCode& code) {
  arch::RegisterImage changed = registers;
  user_regs_struct words{};
  std::memcpy(&words, changed.bytes, sizeof(words));
  words.orig_rax = static_cast<unsigned long long>(-1);
  words.rip = code.signal.begin;
  words.rsp = frame.place + sizeof(uint64_t);
  std::memcpy(changed.bytes, &words, sizeof(words));
  return changed;
}

#else

ReturnCode find_return_code(const std::vector<process::Mapping>&, const process::TracedMemory&) { return {}; }
std::optional<ReturnFrame> make_return_frame(const InterruptedThread&, const std::vector<process::Mapping>&,
                                             const ReturnCode&) {
  return std::nullopt;
}
arch::RegisterImage registers_to_return(const arch::RegisterImage& registers, const ReturnFrame&, const ReturnCode&) {
  return registers;
}
std::optional<InterruptedThread> read_interrupted(uint64_t, const process::TracedMemory&) { return std::nullopt; }

#endif

}  // namespace heaptap::inject
