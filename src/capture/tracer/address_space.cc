#include "capture/tracer/address_space.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "capture/tracer/call_exits.h"
#include "common/base/byte_source.h"
#include "common/wire/functions.h"
#include "common/wire/omitted_objects.h"

namespace heaptap::tracer {
namespace {

const char* name_of(const FoundFunction& found) {
  switch (found.watch) {
    case Watch::kExit:
      return "exit";
    case Watch::kLastExit:
      return "_exit";
    case Watch::kStack:
      return "sigaltstack";
    case Watch::kClone:
      return "clone";
    case Watch::kTrace:
      return "ptrace";
    case Watch::kNumber:
      return "syscall";
    case Watch::kAction:
      return "sigaction";
    case Watch::kMask:
      return "pthread_sigmask";
    case Watch::kSpoken:
      return std::ranges::find(kSpokenNames, found.api_call, &SpokenName::api_call)->symbol;
    default:
      return wire::facts_of(found.function).symbol;
  }
}

}  // namespace

AddressSpace::AddressSpace(pid_t thread, const arch::Cpu& cpu, const model::ToldFunctions* told)
    : cpu_(cpu),
      memory_(thread),
      objects_(thread, memory_, cpu, told),
      called_name_(cpu, memory_, objects_),
      breakpoints_(cpu, memory_) {}

void AddressSpace::copy_from(const AddressSpace& parent) {
  pools_ = parent.pools_;
  objects_.inherit(parent.objects_);
  breakpoints_.copy_from(parent.breakpoints_);
}

void AddressSpace::start(std::unique_ptr<LogWriter> log) {
  log_ = std::move(log);
  if (!memory_.is_open()) {
    note_once({model::NoteKind::kMemoryNotOpened});
  }
  walk_ = std::make_unique<CallWalk>(cpu_, memory_, objects_, *log_, log_->header().depth_limit);
  look_at_objects();
  for (const FoundFunction& function : objects_.resolved_functions()) add_resolved(function.address, function.function);
}

void AddressSpace::end_recording() {
  walk_ = nullptr;
  log_ = nullptr;
}

void AddressSpace::look_at_objects() {
  const LoadedObjects::Changes changes = objects_.refresh();
  for (const uint32_t index : changes.went) {
    breakpoints_.forget(index);
    walk_->object_went(index);
    called_name_.forget(index);
  }
  // Modules are entered in the log before their functions are searched: a function may end in another object.
  for (const uint32_t index : changes.came) object_came(index);
  for (const uint32_t index : changes.came) plant_functions(index);
  plant_notice();
}

void AddressSpace::object_came(uint32_t index) {
  const LoadedObject& object = objects_.objects()[index];
  omitted_.resize(objects_.objects().size());
  omitted_[index] = wire::is_omitted(log_->header(), object.path.c_str());
  walk_->object_came(index, log_->add_module(object));
}

void AddressSpace::plant_functions(uint32_t index) {
  for (const FoundFunction& function : objects_.objects()[index].functions) {
    if (is_wanted(function)) plant_function(index, function);
  }
}

// Exits before entries: a call seen at its entry needs its exit.
void AddressSpace::plant_function(uint32_t object, const FoundFunction& function) {
  Site* site = breakpoints_.add(function.address, object);
  if (site == nullptr) {
    note_once(note_of(model::NoteKind::kEntryNotWatched, object, function));
    return;
  }
  const bool is_known = std::ranges::any_of(site->functions, [&](const FoundFunction& other) {
    return other.watch == function.watch && other.function == function.function &&
           other.api_call == function.api_call && other.form == function.form;
  });
  if (is_known) return;
  const LoadedObject& owner = objects_.objects()[object];
  // The C library's own free calls no recorded function except for the program.
  const bool is_plain_free = function.watch == Watch::kCall && (function.function == wire::Function::kFree ||
                                                                function.function == wire::Function::kCfree);
  const bool is_shared_libc = owner.is_libc && (owner.flags & wire::kModuleIsMain) == 0;
  const bool is_call =
      function.watch == Watch::kCall || function.watch == Watch::kResolver ||
      (function.watch == Watch::kSpoken && (makes_pool(function.api_call) || is_question(function.api_call)));
  if (site->functions.empty()) site->tracks_return = is_call && !(is_plain_free && is_shared_libc);
  site->functions.push_back(function);
  if (site->tracks_return) plant_exits(object, function);
  if (!breakpoints_.plant(*site)) {
    note_once(note_of(model::NoteKind::kEntryNotWritable, object, function));
  }
}

void AddressSpace::plant_exits(uint32_t object, const FoundFunction& function) {
  // Existing breakpoints would be taken for instructions.
  class CleanCode final : public base::ByteSource {
   public:
    CleanCode(const process::TracedMemory& memory, BreakpointTable& table, size_t breakpoint_bytes)
        : memory_(memory), table_(table), breakpoint_bytes_(breakpoint_bytes) {}
    size_t read_some(uint64_t address, void* to, size_t bytes) const override {
      const size_t read = memory_.read_some(address, to, bytes);
      for (size_t i = 0; i < read; ++i) {
        const Site* site = table_.find(address + i);
        if (site == nullptr || !site->planted) continue;
        const size_t count = std::min(breakpoint_bytes_, read - i);
        std::copy_n(site->code.data(), count, static_cast<uint8_t*>(to) + i);
      }
      return read;
    }

   private:
    const process::TracedMemory& memory_;
    BreakpointTable& table_;
    size_t breakpoint_bytes_;
  };
  CleanCode code(memory_, breakpoints_, cpu_.breakpoint().size());
  const auto is_watched = [this](uint64_t address) {
    const Site* site = breakpoints_.find(address);
    return site != nullptr && !site->functions.empty();
  };
  const CallExits exits = find_call_exits(
      cpu_, code, {.start = function.address, .size_bytes = function.size_bytes, .may_have_data = function.is_told},
      is_watched);
  bool all = exits.complete && (!exits.returns.empty() || !exits.tail_jumps.empty());
  const auto plant = [&](uint64_t address, bool Site::* meaning) {
    const int owner = objects_.find(address);
    Site* site = breakpoints_.add(address, owner < 0 ? object : static_cast<uint32_t>(owner));
    if (site == nullptr) {
      all = false;
      return;
    }
    site->*meaning = true;
    all = breakpoints_.plant(*site) && all;
  };
  for (const uint64_t address : exits.returns) plant(address, &Site::is_return);
  for (const uint64_t address : exits.tail_jumps) plant(address, &Site::is_tail_jump);
  if (!all) {
    note_once(note_of(model::NoteKind::kReturnsNotSeen, object, function));
  }
}

void AddressSpace::plant_notice() {
  const uint64_t notice = objects_.change_notice();
  const uint64_t address = notice != 0 || objects_.is_consistent() ? notice : objects_.entry();
  if (address == 0) return;
  const int object = objects_.find(address);
  Site* site = object < 0 ? nullptr : breakpoints_.add(address, static_cast<uint32_t>(object));
  if (site != nullptr) site->is_change_notice = true;
  if (site == nullptr || !breakpoints_.plant(*site)) {
    note_once({model::NoteKind::kLaterObjectsNotWatched});
  }
}

void AddressSpace::add_resolved(uint64_t address, wire::Function function) {
  const int object = objects_.find(address);
  const FoundFunction found{.address = address, .size_bytes = 0, .watch = Watch::kCall, .function = function};
  if (object >= 0 && is_wanted(found)) plant_function(static_cast<uint32_t>(object), found);
}

bool AddressSpace::is_wanted(const FoundFunction& function) const {
  if (function.watch == Watch::kInnerAction || function.watch == Watch::kControl) return false;
  const bool recorded = function.watch == Watch::kCall || function.watch == Watch::kResolver;
  return !recorded || (log_->header().flags & wire::kNoCpp) == 0 ||
         !wire::is_cpp(wire::facts_of(function.function).family);
}

bool AddressSpace::has_cpp() const { return std::ranges::any_of(objects_.objects(), has_operators); }

bool AddressSpace::omits(uint64_t address) const {
  const int object = objects_.find(address);
  return object >= 0 && omitted_[static_cast<size_t>(object)];
}

bool AddressSpace::releases_its_own(uint64_t address) const {
  const int index = objects_.find(address);
  return index >= 0 && objects_.objects()[static_cast<size_t>(index)].allocator.contains(address);
}

bool AddressSpace::is_beside_operators(uint64_t called, uint64_t address) const {
  const int index = objects_.find(called);
  if (index < 0) return false;
  const LoadedObject& object = objects_.objects()[static_cast<size_t>(index)];
  // Only operators known to be the C++ library's call no other function.
  const bool is_runtime = object.exceptions.size() != 0;
  return is_runtime && (objects_.find(address) != index || object.exceptions.contains(address));
}

bool AddressSpace::is_allocators(uint64_t address) const {
  const int index = objects_.find(address);
  if (index < 0) return false;
  return maps_for_itself(objects_.objects()[static_cast<size_t>(index)]);
}

void AddressSpace::note_once(model::Note note) {
  if (known_notes_.insert(note).second) notes_.push_back(std::move(note));
}

model::Note AddressSpace::note_of(model::NoteKind kind, uint32_t object, const FoundFunction& function) const {
  return {.kind = kind, .module = objects_.objects()[object].path, .name = name_of(function)};
}

std::vector<model::Note> AddressSpace::take_notes() {
  const std::vector<model::Note>& theirs = objects_.notes();
  for (; object_notes_ < theirs.size(); ++object_notes_) note_once(theirs[object_notes_]);
  return std::exchange(notes_, {});
}

}  // namespace heaptap::tracer
