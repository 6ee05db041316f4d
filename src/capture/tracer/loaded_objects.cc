#include "capture/tracer/loaded_objects.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "capture/elf/dynamic_section.h"
#include "capture/elf/loader_list.h"
#include "capture/elf/mapped_object.h"
#include "capture/elf/object_path.h"
#include "capture/process/process_status.h"
#include "capture/tracer/object_reader.h"
#include "capture/tracer/relocations.h"
#include "capture/tracer/resolved_slots.h"
#include "capture/tracer/watched_names.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/wire/log.h"

namespace heaptap::tracer {
namespace {

using process::Mapping;

struct KnownObject {
  elf::MappedObject mapped;
  ObjectSymbols symbols;
  base::UniqueFd file;
  base::UniqueFd debug_file;
  bool is_loaded = true;
};

bool is_same(const elf::MappedObject& one, const elf::MappedObject& other) {
  return one.range == other.range && one.bias == other.bias && one.first.inode == other.first.inode &&
         one.first.device == other.first.device && one.build_id == other.build_id;
}

pid_t process_of(pid_t thread) {
  const auto status = process::read_thread_status(thread);
  return status && status->process > 0 ? status->process : thread;
}

}  // namespace

bool maps_for_itself(const LoadedObject& object) {
  if ((object.flags & wire::kModuleIsMain) != 0) return false;
  return object.is_libc || object.is_loader || std::ranges::any_of(object.functions, [](const FoundFunction& found) {
           return found.watch == Watch::kCall && found.function == wire::Function::kMalloc;
         });
}

bool has_operators(const LoadedObject& object) {
  return std::ranges::any_of(
      object.functions, [](const FoundFunction& found) { return wire::is_cpp(wire::facts_of(found.function).family); });
}

struct LoadedObjects::State {
  pid_t process;
  const arch::Cpu& cpu;
  const process::TracedMemory& memory;
  elf::ElfForm form;
  WatchedNames names;
  const model::ToldFunctions* told;
  elf::AuxiliaryVector auxiliary;
  std::vector<LoadedObject> objects;
  std::vector<KnownObject> known;    // of the same indices
  std::vector<uint32_t> by_address;  // the loaded ones, ascending
  std::vector<model::Note> notes;
  int program = -1;
  int loader = -1;
  elf::LoaderList list;  // as last seen

  State(pid_t the_process, process::TracedMemory& the_memory, const arch::Cpu& the_cpu,
        const model::ToldFunctions* what_was_told)
      : process(the_process),
        cpu(the_cpu),
        memory(the_memory),
        form{the_cpu.word_bytes(), the_cpu.is_big_endian()},
        names(the_cpu.word_bytes()),
        told(what_was_told) {}

  [[nodiscard]] std::pair<pid_t, std::vector<Mapping>> read_map() const;
  void read_auxiliary(pid_t thread);
  void note_gone(const std::vector<elf::MappedObject>& mapped, Changes& changes);
  void note_there(pid_t thread, const elf::MappedObject& mapped, Changes& changes);
  void add(pid_t thread, const elf::MappedObject& mapped);
  [[nodiscard]] bool is_program(const elf::MappedObject& mapped) const;
  void sort_by_address();
  void find_roles();
  [[nodiscard]] int holder_of(uint64_t address) const;
  [[nodiscard]] bool is_code(uint64_t address) const;
  [[nodiscard]] uint64_t pointer(uint64_t at) const;
  [[nodiscard]] elf::DynamicSection dynamic_of(int index) const;
  [[nodiscard]] uint64_t list_address() const;
  [[nodiscard]] bool expects_list() const;
};

// /proc/PID/maps of an exited leader is empty; its threads' aren't.
std::pair<pid_t, std::vector<Mapping>> LoadedObjects::State::read_map() const {
  if (auto map = process::read_memory_map(process); !map.empty()) return {process, std::move(map)};
  for (const pid_t thread : process::list_threads(process)) {
    if (auto map = process::read_memory_map(thread); !map.empty()) return {thread, std::move(map)};
  }
  return {process, {}};
}

void LoadedObjects::State::read_auxiliary(pid_t thread) {
  if (auxiliary.program_headers != 0) return;
  auxiliary = elf::parse_auxiliary_vector(base::read_small_file(base::process_file(thread, "auxv")), form);
}

void LoadedObjects::State::note_gone(const std::vector<elf::MappedObject>& mapped, Changes& changes) {
  for (uint32_t i = 0; i < known.size(); ++i) {
    const auto is_it = [&](const elf::MappedObject& object) { return is_same(object, known[i].mapped); };
    if (!known[i].is_loaded || std::ranges::any_of(mapped, is_it)) continue;
    known[i].is_loaded = false;
    changes.went.push_back(i);
  }
}

void LoadedObjects::State::note_there(pid_t thread, const elf::MappedObject& mapped, Changes& changes) {
  for (uint32_t i = 0; i < known.size(); ++i) {
    if (!is_same(mapped, known[i].mapped)) continue;
    if (!known[i].is_loaded) changes.came.push_back(i);
    known[i].is_loaded = true;
    return;
  }
  changes.came.push_back(static_cast<uint32_t>(objects.size()));
  add(thread, mapped);
}

bool LoadedObjects::State::is_program(const elf::MappedObject& mapped) const {
  if (mapped.range.contains(auxiliary.program_headers)) return true;
  return mapped.dynamic != 0 && !list.objects.empty() && list.objects[0].dynamic == mapped.dynamic;
}

void LoadedObjects::State::add(pid_t thread, const elf::MappedObject& mapped) {
  const std::string interpreter = program >= 0 ? known[static_cast<size_t>(program)].mapped.interpreter : std::string();
  ReadObject read = read_object(memory, form,
                                {.thread = thread,
                                 .mapped = mapped,
                                 .path = elf::object_path(memory, form, {thread, mapped, auxiliary, list, interpreter}),
                                 .is_program = is_program(mapped),
                                 .names = names,
                                 .architecture = cpu.architecture(),
                                 .told = told});
  for (model::Note& note : read.notes) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
  objects.push_back(std::move(read.object));
  known.push_back({mapped, std::move(read.symbols), std::move(read.file), std::move(read.debug_file)});
}

void LoadedObjects::State::sort_by_address() {
  by_address.clear();
  for (uint32_t i = 0; i < known.size(); ++i) {
    if (known[i].is_loaded) by_address.push_back(i);
  }
  std::ranges::sort(by_address, {}, [&](uint32_t i) { return objects[i].start; });
}

int LoadedObjects::State::holder_of(uint64_t address) const {
  const auto behind = std::ranges::upper_bound(by_address, address, {}, [&](uint32_t i) { return objects[i].start; });
  if (behind == by_address.begin()) return -1;
  const uint32_t index = *std::prev(behind);
  return address < objects[index].end ? static_cast<int>(index) : -1;
}

bool LoadedObjects::State::is_code(uint64_t address) const {
  const int holder = holder_of(address);
  return holder >= 0 && std::ranges::any_of(objects[static_cast<size_t>(holder)].code,
                                            [&](const auto& range) { return range.contains(address); });
}

// The program and its loader. The kernel has started the program, and mapped the loader for it; or it has started the loader,
// which maps the program (`ld.so PROGRAM`).
void LoadedObjects::State::find_roles() {
  sort_by_address();
  program = holder_of(auxiliary.program_headers);
  loader = auxiliary.loader != 0 ? holder_of(auxiliary.loader) : -1;
  if (loader < 0 && program >= 0 && known[static_cast<size_t>(program)].symbols.is_loader) {
    loader = program;
    program = list.objects.empty() ? -1 : holder_of(list.objects[0].dynamic);
  }
  list = elf::read_loader_list(memory, form, list_address()).value_or(elf::LoaderList{});
  if (program < 0 && !list.objects.empty()) program = holder_of(list.objects[0].dynamic);
  if (program >= 0) objects[static_cast<size_t>(program)].flags |= wire::kModuleIsMain;
  if (loader >= 0) objects[static_cast<size_t>(loader)].is_loader = true;
}

uint64_t LoadedObjects::State::pointer(uint64_t at) const {
  std::array<uint8_t, 8> raw{};
  if (at == 0 || memory.read_some(at, raw.data(), form.word_bytes) != form.word_bytes) return 0;
  return form.number(raw.data(), form.word_bytes);
}

elf::DynamicSection LoadedObjects::State::dynamic_of(int index) const {
  const elf::MappedObject& mapped = known[static_cast<size_t>(index)].mapped;
  return {memory, form, mapped.dynamic, mapped.dynamic_bytes, mapped.bias, mapped.range};
}

// Address of r_debug: the loader enters it in the program's dynamic section when it has started; before, its own symbol
// is used.
uint64_t LoadedObjects::State::list_address() const {
  if (program >= 0) {
    const elf::DynamicSection dynamic = dynamic_of(program);
    if (const auto entered = dynamic.value(DT_DEBUG); entered && *entered != 0) return *entered;
    // Of MIPS, whose dynamic section isn't writable: where the entry is.
    if (const uint64_t at = dynamic.place(DT_MIPS_RLD_MAP_REL); at != 0 && cpu.elf_machine() == EM_MIPS) {
      return pointer(at + *dynamic.value(DT_MIPS_RLD_MAP_REL));
    }
    if (const uint64_t at = dynamic.address(DT_MIPS_RLD_MAP); at != 0 && cpu.elf_machine() == EM_MIPS)
      return pointer(at);
  }
  const int owner = loader >= 0 ? loader : program;
  if (owner < 0) return 0;
  const ObjectSymbols& symbols = known[static_cast<size_t>(owner)].symbols;
  return symbols.loader_list != 0 ? symbols.loader_list : pointer(symbols.loader_list_pointer);
}

// Whether there will be one after the loader has started.
bool LoadedObjects::State::expects_list() const {
  const ObjectSymbols& symbols = known[static_cast<size_t>(loader)].symbols;
  if (program < 0 || symbols.loader_list != 0 || symbols.loader_list_pointer != 0) return true;
  return dynamic_of(program).value(DT_DEBUG).has_value();
}

LoadedObjects::LoadedObjects(pid_t thread, process::TracedMemory& memory, const arch::Cpu& cpu,
                             const model::ToldFunctions* told)
    : state_(new State(process_of(thread), memory, cpu, told)) {}

LoadedObjects::~LoadedObjects() { delete state_; }

void LoadedObjects::inherit(const LoadedObjects& parent) {
  const State& from = *parent.state_;
  state_->told = from.told;
  for (size_t i = 0; i < from.known.size(); ++i) {
    const KnownObject& known = from.known[i];
    state_->known.push_back({known.mapped, known.symbols, known.file.duplicate(), known.debug_file.duplicate(), false});
    LoadedObject object = from.objects[i];
    if (object.frame_file >= 0) {
      const KnownObject& copy = state_->known.back();
      object.frame_file = (object.frame_file == known.file.get() ? copy.file : copy.debug_file).get();
    }
    if (object.frame_file < 0) object.frame_bytes = 0;
    state_->objects.push_back(std::move(object));
  }
}

LoadedObjects::Changes LoadedObjects::refresh() {
  State& state = *state_;
  Changes changes;
  const auto [thread, map] = state.read_map();
  if (map.empty()) return changes;
  state.read_auxiliary(thread);
  const std::vector<elf::MappedObject> mapped = elf::find_mapped_objects(state.memory, map, state.cpu);
  state.note_gone(mapped, changes);
  // Program and loader first: the loader's list, with all others, is found from them.
  for (const uint64_t address : {state.auxiliary.program_headers, state.auxiliary.loader}) {
    const auto found = std::ranges::find_if(mapped, [&](const auto& object) { return object.range.contains(address); });
    if (found != mapped.end()) state.note_there(thread, *found, changes);
    state.find_roles();
  }
  for (const elf::MappedObject& object : mapped) state.note_there(thread, object, changes);
  state.find_roles();
  return changes;
}

const std::vector<LoadedObject>& LoadedObjects::objects() const { return state_->objects; }

bool LoadedObjects::loaded(uint32_t index) const {
  return index < state_->known.size() && state_->known[index].is_loaded;
}

int LoadedObjects::find(uint64_t address) const { return state_->holder_of(address); }

uint64_t LoadedObjects::change_notice() const {
  const State& state = *state_;
  if (state.is_code(state.list.change_notice)) return state.list.change_notice;
  const int owner = state.loader >= 0 ? state.loader : state.program;
  return owner >= 0 ? state.known[static_cast<size_t>(owner)].symbols.change_notice : 0;
}

bool LoadedObjects::is_consistent() const {
  const State& state = *state_;
  if (state.loader < 0) return true;
  const uint64_t address = state.list_address();
  if (address == 0 && !state.expects_list()) return true;
  const auto list = elf::read_loader_state(state.memory, state.form, address);
  return list && list->is_consistent;
}

uint64_t LoadedObjects::entry() const {
  const State& state = *state_;
  return state.program >= 0 ? state.known[static_cast<size_t>(state.program)].mapped.entry : 0;
}

std::vector<FoundFunction> LoadedObjects::resolved_functions() {
  const State& state = *state_;
  std::vector<FoundFunction> resolvers;
  for (const uint32_t i : state.by_address) {
    std::ranges::copy_if(state.objects[i].functions, std::back_inserter(resolvers),
                         [](const FoundFunction& function) { return function.watch == Watch::kResolver; });
  }
  std::vector<FoundFunction> found;
  if (resolvers.empty()) return found;
  const ResolvedSlots slots(state.memory, state.form, state.read_map().first, resolvers, state.names);
  for (const uint32_t i : state.by_address) {
    for (const FoundFunction& function : slots.of(state.known[i].mapped)) {
      const bool is_code = state.is_code(function.address);
      const auto is_it = [&](const FoundFunction& other) {
        return other.address == function.address && other.function == function.function;
      };
      if (is_code && std::ranges::none_of(found, is_it)) found.push_back(function);
    }
  }
  return found;
}

std::vector<NamedSlot> LoadedObjects::named_slots(uint32_t index) const {
  const State& state = *state_;
  std::vector<NamedSlot> slots;
  const elf::MappedObject& mapped = state.known[index].mapped;
  const std::vector<Relocation> relocations = read_relocations(state.memory, state.form, mapped, -1);
  const auto numbers = find_symbol_numbers(state.memory, state.form, mapped, state.names, relocations);
  for (const Relocation& relocation : relocations) {
    const auto number = relocation.symbol == 0 ? numbers.end() : numbers.find(relocation.symbol);
    if (number != numbers.end()) slots.push_back({relocation.slot, number->second});
  }
  return slots;
}

const std::vector<model::Note>& LoadedObjects::notes() const { return state_->notes; }

}  // namespace heaptap::tracer
