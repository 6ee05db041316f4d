#include "capture/inject/patch_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>

#include "common/arch/x86/decode.h"

namespace heaptap::inject {
namespace {

using arch::Flow;
using arch::x86::Map;
using arch::x86::Parts;

constexpr size_t kJumpBytes = 5;

struct Decoded {
  Parts parts;
  arch::Instruction instruction;
};

std::optional<Decoded> decode(std::span<const uint8_t> bytes, uint64_t address) {
  Decoded decoded;
  if (bytes.empty() || !arch::x86::take_apart(arch::x86::Mode::k64, bytes, decoded.parts)) return std::nullopt;
  decoded.instruction = arch::x86::flow_of(decoded.parts, address);
  if (decoded.instruction.flow == Flow::kUnknown || decoded.instruction.length_bytes == 0) return std::nullopt;
  return decoded;
}

bool is_relative(const Parts& parts) { return parts.has_memory && parts.memory.base == arch::x86::kProgramCounter; }

// Compares: changes flags alone, which no caller counts on at a function's entry.
bool only_compares(const Parts& parts) {
  if (parts.map != Map::kOneByte) return false;
  const uint8_t opcode = parts.opcode;
  if (opcode == 0x84 || opcode == 0x85 || opcode == 0xa8 || opcode == 0xa9) return true;
  if (opcode >= 0x38 && opcode <= 0x3d) return true;
  if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83) return parts.modrm_group() == 7;
  return (opcode == 0xf6 || opcode == 0xf7) && parts.modrm_group() == 0;
}

// Moves a value into a register that holds no argument and belongs to the callee.
bool sets_free_register(const Parts& parts, unsigned arguments) {
  static constexpr uint8_t kFree[] = {arch::x86::kAx, 10, 11};
  static constexpr uint8_t kArguments[] = {7 /* rdi */, 6 /* rsi */, arch::x86::kDx, arch::x86::kCx, 8, 9};
  const auto is_free = [arguments](uint8_t number) {
    const auto unused = std::span(kArguments).subspan(std::min<size_t>(arguments, std::size(kArguments)));
    return std::ranges::find(kFree, number) != std::end(kFree) || std::ranges::find(unused, number) != unused.end();
  };
  if (parts.map != Map::kOneByte) return false;
  if (parts.opcode == 0x89) return parts.mod == 3 && is_free(parts.rm);
  if (parts.opcode == 0x8b || parts.opcode == 0x8d) return is_free(parts.reg);
  if (parts.opcode >= 0xb8 && parts.opcode <= 0xbf)
    return is_free(static_cast<uint8_t>((parts.opcode & 7) | (parts.rex & 1) << 3));
  return false;
}

bool is_landing_pad(std::span<const uint8_t> bytes) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  return std::ranges::equal(bytes, kEndbr64);
}

// What undoes the function's first instruction. None: unknown.
std::optional<std::vector<uint8_t>> undo_of(std::span<const uint8_t> bytes, const Parts& parts, unsigned arguments) {
  if (is_landing_pad(bytes) || only_compares(parts) || sets_free_register(parts, arguments))
    return std::vector<uint8_t>{};
  const bool is_prefixed = parts.has_operand_size || parts.has_address_size || parts.has_lock || parts.has_repeat ||
                           parts.has_repeat_not_equal;
  if (parts.map != Map::kOneByte || is_prefixed) return std::nullopt;
  std::vector<uint8_t> undo(bytes.begin(), bytes.end());
  if ((parts.opcode & 0xf8) == 0x50) {  // push
    constexpr uint8_t kPushToPop = 0x08;
    const bool is_stack_pointer = (parts.opcode & 7) == arch::x86::kSp && (parts.rex & 1) == 0;
    undo.back() |= kPushToPop;
    return is_stack_pointer ? std::nullopt : std::optional(undo);
  }
  const bool subtracts = (parts.opcode == 0x83 || parts.opcode == 0x81) && parts.modrm_group() == 5;
  if (subtracts && parts.mod == 3 && parts.rm == arch::x86::kSp && parts.has_rex_w()) {  // sub …, %rsp
    constexpr size_t kModrm = 2;
    constexpr uint8_t kSubToAdd = 0x28;
    undo[kModrm] = static_cast<uint8_t>(undo[kModrm] ^ kSubToAdd);
    return undo;
  }
  return std::nullopt;
}

bool ends_straight_code(Flow flow) {
  return flow == Flow::kJump || flow == Flow::kIndirectJump || flow == Flow::kReturn || flow == Flow::kStop;
}

bool is_plain_call(const Parts& parts) { return parts.map == Map::kOneByte && parts.opcode == 0xe8; }

// An instruction that can be executed elsewhere, with the same effect. `is_last`: the code behind it stays.
bool can_move(const Decoded& decoded, bool is_last) {
  const Parts& parts = decoded.parts;
  switch (decoded.instruction.flow) {
    case Flow::kCall:
      return is_last && is_plain_call(parts);
    case Flow::kNext:
      return !is_relative(parts) || parts.map != Map::kVector;
    case Flow::kJump:
      return true;
    case Flow::kBranch: {
      const bool is_short = parts.map == Map::kOneByte && (parts.opcode & 0xf0) == 0x70;
      return is_short || (parts.map == Map::kTwoByte && (parts.opcode & 0xf0) == 0x80);
    }
    default:
      return false;
  }
}

void append_jump(std::vector<uint8_t>& code, std::span<const uint8_t> opcode) {
  code.insert(code.end(), opcode.begin(), opcode.end());
  code.insert(code.end(), 4, 0);
}

// Sets the distance that ends at the code's end. False: too far.
bool set_distance(std::span<uint8_t> distance, uint64_t from, uint64_t target) {
  const auto value = static_cast<int64_t>(target - from);
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) return false;
  for (size_t i = 0; i < 4; ++i) distance[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  return true;
}

bool add_jump(std::vector<uint8_t>& code, uint64_t address, std::span<const uint8_t> opcode, uint64_t target) {
  append_jump(code, opcode);
  return set_distance(std::span(code).last(4), address + code.size(), target);
}

// A call as the function itself makes it: it returns there.
bool add_call(std::vector<uint8_t>& code, uint64_t address, uint64_t target, uint64_t return_address) {
  constexpr uint8_t kMakeRoom[] = {0x48, 0x8d, 0x64, 0x24, 0xf8};  // lea -8(%rsp), %rsp
  constexpr uint8_t kStoreLow[] = {0xc7, 0x04, 0x24};              // movl …, (%rsp)
  constexpr uint8_t kStoreHigh[] = {0xc7, 0x44, 0x24, 0x04};       // movl …, 4(%rsp)
  constexpr uint8_t kJump[] = {0xe9};
  const auto add = [&code](std::span<const uint8_t> bytes) { code.insert(code.end(), bytes.begin(), bytes.end()); };
  const auto add_half = [&code](uint64_t value) {
    for (size_t i = 0; i < 4; ++i) code.push_back(static_cast<uint8_t>(value >> (8 * i)));
  };
  add(kMakeRoom);
  add(kStoreLow);
  add_half(return_address);
  add(kStoreHigh);
  add_half(return_address >> 32);
  return add_jump(code, address, kJump, target);
}

// To anywhere.
void add_far_jump(std::vector<uint8_t>& code, uint64_t target) {
  constexpr uint8_t kJump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *(%rip): the address is right behind it
  code.insert(code.end(), std::begin(kJump), std::end(kJump));
  for (size_t i = 0; i < sizeof(target); ++i) code.push_back(static_cast<uint8_t>(target >> (8 * i)));
}

// Where the displacement of a relative operand lies: right behind the ModRM byte.
size_t displacement_at(std::span<const uint8_t> bytes, const Parts& parts) {
  size_t at = 0;
  const auto is_prefix = [](uint8_t byte) {
    constexpr uint8_t kPrefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
    return (byte & 0xf0) == 0x40 || std::ranges::find(kPrefixes, byte) != std::end(kPrefixes);
  };
  while (at < bytes.size() && is_prefix(bytes[at])) ++at;
  const size_t opcode_bytes = parts.map == Map::kOneByte ? 1 : parts.map == Map::kTwoByte ? 2 : 3;
  return at + opcode_bytes + 1;
}

// From its place, to the end of the code that begins at `to`.
bool move_one(const Decoded& decoded, std::span<const uint8_t> bytes, uint64_t from, uint64_t to,
              std::vector<uint8_t>& code) {
  constexpr uint8_t kJump[] = {0xe9};
  const Parts& parts = decoded.parts;
  if (decoded.instruction.flow == Flow::kJump) return add_jump(code, to, kJump, decoded.instruction.target);
  if (decoded.instruction.flow == Flow::kCall)
    return add_call(code, to, decoded.instruction.target, from + bytes.size());
  if (decoded.instruction.flow == Flow::kBranch) {
    const uint8_t branch[] = {0x0f, static_cast<uint8_t>(0x80 | (parts.opcode & 0x0f))};
    return add_jump(code, to, branch, decoded.instruction.target);
  }
  const size_t begin = code.size();
  code.insert(code.end(), bytes.begin(), bytes.end());
  if (!is_relative(parts)) return true;
  const uint64_t target = from + bytes.size() + static_cast<uint64_t>(parts.memory.displacement);
  const size_t at = displacement_at(bytes, parts);
  if (at + 4 > bytes.size()) return false;
  return set_distance(std::span(code).subspan(begin + at, 4), to + code.size(), target);
}

// All instructions of the function are understood, and none goes to what is replaced.
base::Result<> check_rest(const FunctionCode& function, base::AddressRange replaced) {
  size_t at = 0;
  while (at < function.bytes.size()) {
    const auto decoded = decode(function.bytes.subspan(at), function.address + at);
    if (!decoded) return base::fail("not all of its code can be decoded");
    const Flow flow = decoded->instruction.flow;
    const bool goes_there = flow == Flow::kJump || flow == Flow::kBranch || flow == Flow::kCall;
    if (goes_there && replaced.contains(decoded->instruction.target))
      return base::fail("it jumps to its own beginning");
    at += decoded->instruction.length_bytes;
  }
  return {};
}

// Of a function that begins with a jump of the patch's size.
bool is_plain_jump(const Decoded& first) {
  return first.instruction.flow == Flow::kJump && first.parts.opcode == 0xe9 &&
         first.instruction.length_bytes == kJumpBytes;
}

}  // namespace

base::Result<PatchPlan> plan_patch(const FunctionCode& function) {
  const std::span<const uint8_t> bytes = function.bytes;
  const auto first = decode(bytes, function.address);
  if (first && is_plain_jump(*first)) {
    PatchPlan plan{.function = function.address, .site = function.address, .continues = false};
    plan.head.assign(bytes.begin(), bytes.begin() + kJumpBytes);
    HEAPTAP_TRY(check_rest(function, plan.kept()));
    return plan;
  }
  if (!first || first->instruction.flow != Flow::kNext) return base::fail("its first instruction isn't a plain one");
  PatchPlan plan{.function = function.address, .site = function.address + first->instruction.length_bytes};
  const size_t first_bytes = first->instruction.length_bytes;
  auto undo = undo_of(bytes.first(first_bytes), first->parts, function.arguments);
  if (!undo) return base::fail("what its first instruction does can't be undone");
  plan.undo = std::move(*undo);
  size_t at = first_bytes;
  while (at < first_bytes + kJumpBytes) {
    const auto decoded = plan.continues ? decode(bytes.subspan(at), function.address + at) : std::nullopt;
    if (!decoded) return base::fail("it is too short");
    const bool is_last = at + decoded->instruction.length_bytes >= first_bytes + kJumpBytes;
    if (!can_move(*decoded, is_last)) return base::fail("one of its first instructions can't be moved");
    plan.continues = !ends_straight_code(decoded->instruction.flow) && decoded->instruction.flow != Flow::kCall;
    at += decoded->instruction.length_bytes;
  }
  plan.head.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at));
  HEAPTAP_TRY(check_rest(function, plan.kept()));
  return plan;
}

base::Result<Trampoline> make_trampoline(const PatchPlan& plan, uint64_t address, uint64_t hook) {
  constexpr uint8_t kJump[] = {0xe9};
  const auto too_far = base::fail("no memory near its code");
  const std::span<const uint8_t> head(plan.head);
  Trampoline made;
  for (size_t at = 0; at < head.size();) {
    const auto decoded = decode(head.subspan(at), plan.function + at);
    if (!decoded) return too_far;
    const auto bytes = head.subspan(at, decoded->instruction.length_bytes);
    if (!move_one(*decoded, bytes, plan.function + at, address, made.code)) return too_far;
    at += bytes.size();
  }
  if (plan.continues && !add_jump(made.code, address, kJump, plan.function + head.size())) return too_far;
  made.entry = made.code.size();
  made.code.insert(made.code.end(), plan.undo.begin(), plan.undo.end());
  const size_t without_jump = made.code.size();
  if (add_jump(made.code, address, kJump, hook)) return made;
  made.code.resize(without_jump);
  add_far_jump(made.code, hook);
  return made;
}

std::vector<uint8_t> make_patch(const PatchPlan& plan, uint64_t entry) {
  constexpr uint8_t kJump[] = {0xe9};
  constexpr uint8_t kBreakpoint = 0xcc;
  std::vector<uint8_t> patch;
  if (!add_jump(patch, plan.site, kJump, entry)) return {};
  patch.resize(plan.replaced().size(), kBreakpoint);
  return patch;
}

bool jumps_into(std::span<const uint8_t> code, uint64_t address, std::span<const base::AddressRange> ranges) {
  const auto distance = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value |= uint32_t{code[at + i]} << (8 * i);
    return static_cast<int64_t>(static_cast<int32_t>(value));
  };
  for (size_t at = 0; at + kJumpBytes <= code.size(); ++at) {
    const bool is_plain = code[at] == 0xe8 || code[at] == 0xe9;
    const bool is_branch = code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80 && at + kJumpBytes < code.size();
    if (!is_plain && !is_branch) continue;
    const size_t behind = at + (is_branch ? 2 : 1);
    const uint64_t target = address + behind + 4 + static_cast<uint64_t>(distance(behind));
    if (std::ranges::any_of(ranges, [&](const auto& range) { return range.contains(target); })) return true;
  }
  return false;
}

}  // namespace heaptap::inject
