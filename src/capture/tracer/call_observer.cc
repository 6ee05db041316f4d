#include "capture/tracer/call_observer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/pages.h"
#include "common/wire/functions.h"
#include "common/wire/mapping_call.h"

namespace heaptap::tracer {
namespace {

using wire::Function;
using wire::RecordKind;
using wire::Role;

// Meanings of the arguments, each with its number; -1: none has it.
struct Arguments {
  int block = -1;
  int size = -1;
  int count = -1;  // for elements of that size
  int old_size = -1;
  int flags = -1;  // of mremap, mmap
  int protection = -1;
  int result = -1;  // address of the result
};

constexpr Arguments arguments_of(Function function) {
  switch (function) {
    case Function::kCalloc:
      return {.size = 1, .count = 0};
    case Function::kRealloc:
      return {.block = 0, .size = 1};
    case Function::kReallocarray:
      return {.block = 0, .size = 2, .count = 1};
    case Function::kPosixMemalign:
      return {.size = 2, .result = 0};
    case Function::kAlignedAlloc:
    case Function::kMemalign:
    case Function::kMunmap:
      return {.block = 0, .size = 1};
    case Function::kMmap:
    case Function::kMmap64:
      return {.block = 0, .size = 1, .flags = 3, .protection = 2};
    case Function::kMprotect:
    case Function::kPkeyMprotect:
      return {.block = 0, .size = 1, .protection = 2};
    case Function::kMremap:
      return {.block = 0, .size = 2, .old_size = 1, .flags = 3};
    default:
      break;
  }
  return wire::facts_of(function).role == Role::kRelease ? Arguments{.block = 0} : Arguments{.size = 0};
}

constexpr Arguments arguments_of(const FoundFunction& called) {
  Arguments arguments = arguments_of(called.function);
  if (called.form == Form::kPrinted) return {.result = 0};
  if (called.form == Form::kText || called.form == Form::kWideText) return {};
  if (called.form != Form::kInArena) return arguments;
  for (int* const index : {&arguments.block, &arguments.size, &arguments.count}) *index += *index >= 0 ? 1 : 0;
  return arguments;
}

// For a function that returns an int, 0 for success.
constexpr bool is_status_of_success(uint64_t result) { return static_cast<uint32_t>(result) == 0; }

// Calls that may be part of an outer call, which began before it could be seen.
constexpr Function either_of(Function function) {
  const wire::FunctionFacts& facts = wire::facts_of(function);
  const bool is_known =
      function == Function::kCalloc || function == Function::kRealloc || function == Function::kReallocarray;
  const bool allocates = facts.role == Role::kAllocate;
  if ((!allocates && facts.role != Role::kRelease) || is_known) return function;
  if (facts.family == wire::Family::kMalloc) return allocates ? Function::kMallocOrNew : Function::kFreeOrDelete;
  if (facts.family == wire::Family::kNew) {
    return allocates ? Function::kNewOrNewArray : Function::kDeleteOrDeleteArray;
  }
  return function;
}

// Memory for trial emulation, without writes.
class ReadOnly final : public arch::TargetMemory {
 public:
  explicit ReadOnly(arch::TargetMemory& memory) : memory_(memory) {}
  bool read(uint64_t address, void* to, size_t bytes) override { return memory_.read(address, to, bytes); }
  bool write(uint64_t /*address*/, const void* /*from*/, size_t /*bytes*/) override { return false; }

 private:
  arch::TargetMemory& memory_;
};

}  // namespace

void CallObserver::entered(const Site& site) {
  arch::CallPlace place;
  if (!space_.cpu().call_place(registers_, space_.memory(), place)) return;
  FoundFunction called = site.functions.front();
  called.function = space_.called_name().choose(site.functions, registers_, place.return_address);
  const auto chosen = std::ranges::find(site.functions, called.function, &FoundFunction::function);
  if (chosen != site.functions.end()) called.form = chosen->form;
  PendingCall* outer = thread_.calls.enclosing(place, called, space_.memory(), space_.cpu());
  if (outer != nullptr && !is_for_failure(*outer, called, place)) {
    const bool ends_here = outer->goes_on_in_release && !site.tracks_return &&
                           outer->place.entry_stack_pointer == place.entry_stack_pointer;
    const wire::FunctionFacts& facts = wire::facts_of(called.function);
    if (facts.role == Role::kAllocate && wire::is_cpp(facts.family)) {
      outer->inner_operator = called.address;
      outer->inner_place = place;
    }
    if (ends_here) thread_.calls.pop(outer);
    return;
  }
  begin(called, site, place);
}

// operator new without memory calls the program's new_handler, and throws: nested calls are not part of it.
bool CallObserver::is_for_failure(const PendingCall& outer, const FoundFunction& called,
                                  const arch::CallPlace& place) const {
  const wire::FunctionFacts& facts = wire::facts_of(outer.called.function);
  if (facts.role != Role::kAllocate || !wire::is_cpp(facts.family)) return false;
  const bool goes_on_there = place.entry_stack_pointer == outer.place.entry_stack_pointer;
  if (goes_on_there) return false;
  return wire::facts_of(called.function).role == Role::kRelease ||
         space_.is_beside_operators(operator_around(outer, place), place.return_address);
}

// The C++ library's operator new[] calls an operator new that the program or a library may have replaced, and that one
// malloc.
uint64_t CallObserver::operator_around(const PendingCall& outer, const arch::CallPlace& place) const {
  const bool is_inside = outer.inner_operator != 0 &&
                         place.entry_stack_pointer < outer.inner_place.entry_stack_pointer &&
                         still_stands(outer.inner_place, space_.memory(), space_.cpu());
  return is_inside ? outer.inner_operator : outer.called.address;
}

void CallObserver::begin(const FoundFunction& called, const Site& site, const arch::CallPlace& place) {
  PendingCall call{.called = called, .recorded_as = called.function, .place = place};
  const Role role = wire::facts_of(called.function).role;
  const bool maps = wire::facts_of(called.function).family == wire::Family::kMap;
  if (called.watch == Watch::kResolver) {
    thread_.calls.push(call);
    return;
  }
  if (maps && space_.is_allocators(place.return_address)) return;
  if (role == Role::kRelease && space_.releases_its_own(place.return_address)) return;
  const Arguments arguments = arguments_of(called);
  if (std::exchange(thread_.may_be_in_call, false)) call.recorded_as = either_of(called.function);
  call.is_event = !space_.omits(place.return_address);
  call.block = argument(role == Role::kAllocate ? arguments.result : arguments.block);
  call.size_bytes = argument(arguments.size);
  if (arguments.count >= 0) call.size_bytes *= argument(arguments.count);
  call.old_size_bytes = argument(arguments.old_size);
  call.leaves_old = (argument(arguments.flags) & 4) != 0 /* MREMAP_DONTUNMAP */ || call.old_size_bytes == 0;
  call.memory = memory_of(role, call, arguments.protection, arguments.flags);
  const bool has_frame = called.form != Form::kPlain;
  if (call.is_event && !(role == Role::kRelease && call.block == 0))
    call.stack = stack_for(role, place, has_frame ? called.address : 0);
  if (role == Role::kRelease) {
    begin_release(call, site.tracks_return);
  } else if (role == Role::kReallocate) {
    begin_reallocation(call);
  } else if (role == Role::kUnmap || role == Role::kRemap) {
    begin_mapping(call);
  } else {
    thread_.calls.push(call);
  }
}

wire::MappedMemory CallObserver::memory_of(Role role, const PendingCall& call, int protection, int flags) {
  if (role == Role::kMap) return wire::memory_of_call(argument(protection), argument(flags));
  if (role == Role::kProtect) return {.access = wire::access_of_call(argument(protection))};
  const bool moves = role == Role::kRemap && !call.leaves_old;
  return {.source = moves ? wire::MappedSource::kMoved : wire::MappedSource::kUnknown};
}

void CallObserver::begin_release(PendingCall call, bool tracks_return) {
  if (call.block != 0) write(RecordKind::kRelease, call, call.block, 0);
  if (tracks_return) thread_.calls.push(call);
}

void CallObserver::begin_reallocation(PendingCall call) {
  call.releases = call.block != 0;
  if (call.releases) write(RecordKind::kRelease, call, call.block, 0);
  thread_.calls.push(call);
}

// Unmapped memory may be mapped by another thread before this call is seen to return.
void CallObserver::begin_mapping(PendingCall call) {
  const bool moves = wire::facts_of(call.called.function).role == Role::kRemap;
  const uint64_t size_bytes = base::whole_pages(moves ? call.old_size_bytes : call.size_bytes);
  const bool unmaps = call.is_event && !(moves && call.leaves_old);
  if (unmaps)
    space_.unmappings().begin(thread_.id(), stream(), event_of(RecordKind::kUnmap, call, call.block, size_bytes));
  thread_.calls.push(call);
}

ApiCalls CallObserver::spoken_at(const arch::CallPlace& place) {
  return {space_, thread_, registers_, stream(), [this, place] { return walk(place); }};
}

void CallObserver::spoke(const Site& site) {
  arch::CallPlace place;
  if (!space_.cpu().call_place(registers_, space_.memory(), place)) return;
  const FoundFunction& called = site.functions.front();
  spoken_at(place).entered(called.api_call);
  // The pool's handle is known at the return, and questions are answered then.
  if (makes_pool(called.api_call) || is_question(called.api_call))
    thread_.calls.push({.called = called, .place = place, .block = argument(0), .is_event = false});
}

// stack_t { void* ss_sp; int ss_flags; size_t ss_size; }. Calls refused by the kernel are ignored.
void CallObserver::sets_alternate_stack() {
  constexpr uint64_t kDisabled = 2;
  constexpr uint64_t kLeastBytes = 2048;
  const arch::Cpu& cpu = space_.cpu();
  const uint64_t at = argument(0);
  const uint64_t word = cpu.word_bytes();
  uint64_t begin = 0;
  uint64_t size_bytes = 0;
  uint8_t flags[4] = {};
  if (at == 0 || !arch::read_word(cpu, space_.memory(), at, begin) ||
      !arch::read_word(cpu, space_.memory(), at + 2 * word, size_bytes) ||
      !space_.memory().read(at + word, flags, sizeof(flags))) {
    return;
  }
  base::AddressRange& known = thread_.alternate_stack;
  if (known.contains(cpu.stack_pointer(registers_))) return;
  const bool is_off = (flags[cpu.is_big_endian() ? 3 : 0] & kDisabled) != 0;
  if (!is_off && size_bytes < kLeastBytes) return;
  space_.log().forget_stack(known.begin);
  known = is_off ? base::AddressRange{} : base::AddressRange{begin, begin + size_bytes};
  space_.log().note_stack({.begin = known.begin,
                           .end = known.end,
                           .context = 0,
                           .thread_id = static_cast<uint32_t>(thread_.id()),
                           .kind = wire::RootKind::kAlternateStack});
}

CallObserver::Resolved CallObserver::returning() {
  const PendingCall* ending = thread_.calls.ending(space_.cpu(), registers_);
  return ending != nullptr ? end(ending) : Resolved{};
}

CallObserver::Resolved CallObserver::returned() {
  const uint64_t stack_pointer = space_.cpu().stack_pointer(registers_);
  const PendingCall* call = thread_.calls.returned(space_.cpu().program_counter(registers_), stack_pointer);
  return call != nullptr ? end(call) : Resolved{};
}

CallObserver::Resolved CallObserver::end(const PendingCall* ending) {
  const PendingCall call = *ending;
  thread_.calls.pop(ending);
  const uint64_t result = space_.cpu().result(registers_);
  if (call.called.watch == Watch::kSpoken) {
    if (is_question(call.called.api_call)) return {.asked = call.called.api_call, .argument = call.block};
    spoken_at(call.place).made(call.called.api_call, call.block, result);
    return {};
  }
  if (call.called.watch == Watch::kResolver) return {.address = result, .function = call.called.function};
  if (call.is_event) finish(call, result);
  return {};
}

void CallObserver::finish(const PendingCall& call, uint64_t result) {
  switch (wire::facts_of(call.called.function).role) {
    case Role::kAllocate:
      finish_allocation(call, result);
      break;
    case Role::kReallocate:
      if (result != 0) {
        write(RecordKind::kAllocate, call, result, call.size_bytes);
      } else if (call.releases && call.size_bytes != 0) {
        write(RecordKind::kUndo, call, call.block, 0);
      }
      break;
    case Role::kMap:
    case Role::kUnmap:
    case Role::kRemap:
      finish_mapping(call, result);
      break;
    case Role::kProtect:
      if (is_status_of_success(result))
        write(RecordKind::kProtect, call, call.block, base::whole_pages(call.size_bytes));
      break;
    case Role::kRelease:
    case Role::kNone:
    case Role::kPoolAllocate:
    case Role::kPoolRelease:
      break;
  }
}

void CallObserver::finish_allocation(const PendingCall& call, uint64_t result) {
  if (call.called.function == Function::kPosixMemalign) {
    if (!is_status_of_success(result) || !arch::read_word(space_.cpu(), space_.memory(), call.block, result)) return;
  }
  uint64_t size_bytes = call.size_bytes;
  if (call.called.form == Form::kPrinted) {
    const auto length = static_cast<int32_t>(result);
    if (length < 0 || !arch::read_word(space_.cpu(), space_.memory(), call.block, result)) return;
    size_bytes = static_cast<uint64_t>(length) + 1;
  } else if (result != 0 && (call.called.form == Form::kText || call.called.form == Form::kWideText)) {
    size_bytes = text_bytes(result, call.called.form == Form::kWideText);
  }
  if (result != 0) write(RecordKind::kAllocate, call, result, size_bytes);
}

uint64_t CallObserver::text_bytes(uint64_t text, bool is_wide) {
  constexpr uint64_t kMaxTextBytes = uint64_t{1} << 20;
  constexpr size_t kWideBytes = 4;
  const size_t unit = is_wide ? kWideBytes : 1;
  uint8_t bytes[4096];
  for (uint64_t at = 0; at < kMaxTextBytes;) {
    // Not beyond the end of a page, after which there may be none.
    const size_t wanted = sizeof(bytes) - (text + at) % sizeof(bytes);
    const size_t count = space_.memory().read_some(text + at, bytes, wanted) / unit * unit;
    for (size_t i = 0; i < count; i += unit) {
      if (std::all_of(&bytes[i], &bytes[i + unit], [](uint8_t byte) { return byte == 0; })) return at + i + unit;
    }
    if (count == 0) return at;
    at += count;
  }
  return kMaxTextBytes;
}

void CallObserver::finish_mapping(const PendingCall& call, uint64_t result) {
  const uint64_t all_ones = UINT64_MAX >> (64 - space_.cpu().word_bytes() * 8);
  const bool unmaps_only = wire::facts_of(call.called.function).role == Role::kUnmap;
  const bool failed = unmaps_only ? !is_status_of_success(result) : result == all_ones;
  const bool is_new = space_.unmappings().end(thread_.id());
  if (failed) return;
  const uint64_t unmapped = base::whole_pages(unmaps_only ? call.size_bytes : call.old_size_bytes);
  if (is_new) write(RecordKind::kUnmap, call, call.block, unmapped);
  if (unmaps_only) return;
  const uint64_t mapped = base::whole_pages(call.size_bytes);
  space_.unmappings().mapped(thread_.id(), {result, result + mapped}, space_.log());
  write(RecordKind::kMap, call, result, mapped);
}

PendingCall* CallObserver::jumped(const Site& site) {
  const uint64_t stack_pointer = space_.cpu().stack_pointer(registers_);
  PendingCall* call = thread_.calls.innermost();
  if (call == nullptr || call->place.entry_stack_pointer != stack_pointer) return nullptr;
  call->is_interrupted = false;                   // an interrupted handler has ended
  if (call->awaited_return != 0) return nullptr;  // it already continued elsewhere
  const uint64_t there = behind_stubs(space_.cpu().program_counter(registers_));
  const uint64_t start = call->called.address;
  if (there >= start && there < start + call->called.size_bytes) return nullptr;  // by a table, within the function
  if (const Site* next = space_.breakpoints().find(there); next != nullptr && !next->functions.empty()) {
    if (!next->tracks_return) call->goes_on_in_release = true;
    return nullptr;
  }
  return site.is_tail_jump ? call : nullptr;
}

uint64_t CallObserver::behind_stubs(uint64_t address) {
  constexpr unsigned kMaxSteps = 8;
  const arch::Cpu& cpu = space_.cpu();
  const arch::LinkageStub stub = cpu.linkage_stub();
  ReadOnly memory(space_.memory());
  arch::RegisterImage registers = registers_;
  for (unsigned step = 0; step < kMaxSteps && space_.breakpoints().find(address) == nullptr; ++step) {
    uint8_t bytes[arch::Cpu::kMaxInstructionBytes];
    const size_t count = space_.memory().read_some(address, bytes, sizeof(bytes));
    const bool jumps = cpu.decode(address, {bytes, count}).flow == arch::Flow::kIndirectJump;
    arch::RegisterImage before = registers;
    if (!cpu.emulate(address, {bytes, count}, registers, memory)) break;
    const uint64_t next = cpu.program_counter(registers);
    cpu.set_program_counter(before, next);
    std::memcpy(before.bytes + stub.changed_offset, registers.bytes + stub.changed_offset, stub.changed_bytes);
    // A stub has only jumps and a landing pad, without other effects.
    if (!jumps && std::memcmp(before.bytes, registers.bytes, registers.size) != 0) break;
    address = next;
  }
  return address;
}

LogWriter::Event CallObserver::event_of(RecordKind kind, const PendingCall& call, uint64_t address,
                                        uint64_t size_bytes) {
  return {.kind = kind,
          .function = call.recorded_as,
          .address = address,
          .size_bytes = size_bytes,
          .stack = call.stack,
          .time = 0};
}

void CallObserver::write(RecordKind kind, const PendingCall& call, uint64_t address, uint64_t size_bytes) {
  if (!call.is_event) return;
  LogWriter::Event event = event_of(kind, call, address, size_bytes);
  const bool allocates = kind == RecordKind::kAllocate || kind == RecordKind::kMap;
  if (kind == RecordKind::kMap || kind == RecordKind::kProtect)
    event.size_bytes = wire::make_mapped(size_bytes, call.memory);
  if (allocates && thread_.tag != wire::kNoLabel) event.stack = space_.log().with_label(event.stack, thread_.tag);
  space_.log().write(stream(), event);
}

wire::LogStream* CallObserver::stream() {
  if (thread_.stream == nullptr) thread_.stream = space_.log().open_stream(static_cast<uint32_t>(thread_.id()));
  return thread_.stream;
}

uint64_t CallObserver::argument(int index) {
  uint64_t value = 0;
  if (index >= 0) space_.cpu().argument(registers_, space_.memory(), static_cast<unsigned>(index), value);
  return value;
}

// A reallocation's stack is that of its allocation, too.
uint32_t CallObserver::stack_for(Role role, const arch::CallPlace& place, uint64_t function) {
  const wire::LogHeader& log = space_.log().header();
  const uint32_t limits = role == Role::kRelease && !wire::is_switched_off(log) ? log.flags : 0;
  if ((limits & wire::kNoReleaseStacks) != 0) return LogWriter::root(wire::StackEnd::kDepthLimit);
  if ((limits & wire::kReleaseCallers) != 0) return space_.walk().caller(start_of(place, function));
  return walk(place, function);
}

CallWalk::Start CallObserver::start_of(const arch::CallPlace& place, uint64_t function) const {
  return {.thread = thread_.id(),
          .return_address = place.return_address,
          .slot = place.slot,
          .stack_pointer = place.caller_stack_pointer,
          .frame_pointer = space_.cpu().frame_pointer(registers_),
          .function = function};
}

uint32_t CallObserver::walk(const arch::CallPlace& place, uint64_t function) {
  if (wire::is_switched_off(space_.log().header())) return LogWriter::root(wire::StackEnd::kNotUnwound);
  if (thread_.last_stack == nullptr) thread_.last_stack = space_.walk().make_last_stack();
  return space_.walk().walk(start_of(place, function), *thread_.last_stack);
}

}  // namespace heaptap::tracer
