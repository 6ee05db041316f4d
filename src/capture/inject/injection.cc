#include "capture/inject/injection.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "capture/elf/mapped_object.h"
#include "capture/elf/object_file.h"
#include "capture/inject/injection_check.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/tracer/injected_call.h"
#include "capture/tracer/loaded_objects.h"
#include "common/arch/native.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/wire/functions.h"
#include "common/wire/log.h"

namespace heaptap::inject {
namespace {

using process::Mapping;

constexpr int kLooksAtChildren = 300;
// What the process tells of itself is believed up to these.
constexpr size_t kMaxFunctionBytes = size_t{1} << 20;
constexpr size_t kMaxCodeBytes = size_t{64} << 20;

#define HEAPTAP_HOOK(function, symbol) wire::Function::function,
constexpr std::array kHooked = {HEAPTAP_INJECTED_HOOKS(HEAPTAP_HOOK)};
#undef HEAPTAP_HOOK
#define HEAPTAP_HOOK(function, symbol) #symbol,
constexpr std::array kHookedNames = {HEAPTAP_INJECTED_HOOKS(HEAPTAP_HOOK)};
#undef HEAPTAP_HOOK

// Without these nothing can be concluded; calls of the others are rare, and are seen as what they call.
bool is_needed(wire::Function function) {
  return function != wire::Function::kValloc && function != wire::Function::kPvalloc &&
         function != wire::Function::kReallocarray;
}

// The object's code at an address, as it is in its file. Empty: unknown.
std::vector<uint8_t> read_file_code(const elf::ObjectFile& file, const elf::MappedObject& object, uint64_t address,
                                    size_t bytes) {
  for (const elf::ElfSegment& segment : object.loaded) {
    const uint64_t begin = object.bias + segment.address;
    if (!file.file || address < begin || address + bytes > begin + segment.file_bytes) continue;
    std::vector<uint8_t> code(bytes);
    code.resize(elf::FileBytes(file.file.get()).read_some(segment.offset + (address - begin), code.data(), bytes));
    return code;
  }
  return {};
}

wire::InjectedModule module_of(const tracer::LoadedObject& object, const elf::MappedObject& mapped) {
  wire::InjectedModule module{};
  module.bias = object.bias;
  module.start = object.start;
  module.end = object.end;
  module.unwind_header = object.unwind_header;
  for (const elf::ElfSegment& segment : mapped.loaded) {
    const uint64_t begin = mapped.bias + segment.address;
    if (module.unwind_header < begin || module.unwind_header >= begin + segment.memory_bytes) continue;
    module.tables_start = begin;
    module.tables_end = begin + segment.memory_bytes;
  }
  module.is_main = (object.flags & wire::kModuleIsMain) != 0;
  module.is_vdso = (object.flags & wire::kModuleIsVdso) != 0;
  module.is_go = object.is_go;
  module.entry = module.is_main != 0 || object.is_loader ? mapped.entry : 0;
  module.build_id_bytes = object.build_id_bytes;
  std::memcpy(module.build_id, object.build_id.data(), sizeof(module.build_id));
  std::memcpy(module.path, object.path.data(), std::min(object.path.size(), sizeof(module.path) - 1));
  return module;
}

}  // namespace

base::Result<std::unique_ptr<Injection>> Injection::plan(pid_t process, const AgentImage& image) {
  const pid_t live_thread = process::find_live_thread(process);
  if (live_thread == 0) return base::fail("process {} has ended", process);
  InjectionFacts facts = read_injection_facts(process, live_thread);
  // A child that is about to execute a program (vfork, posix_spawn) soon has memory of its own.
  for (int i = 0; i < kLooksAtChildren && facts.shares_memory; ++i) {
    usleep(1000);
    facts = read_injection_facts(process, live_thread);
  }
  HEAPTAP_TRY(check_injection(facts));
  std::unique_ptr<Injection> made(new Injection(process, live_thread, image));
  if (!made->memory_.is_open() || !made->file_.is_open()) return base::fail("its memory can't be opened");
  HEAPTAP_TRY(made->find_functions(live_thread));
  return made;
}

base::Result<> Injection::find_functions(pid_t live_thread) {
  const arch::Cpu& cpu = *arch::cpu_of(arch::native::kArchitecture);
  const std::vector<Mapping> map = process::read_memory_map(live_thread);
  tracer::LoadedObjects objects(live_thread, memory_, cpu);
  objects.refresh();
  const auto mapped_objects = elf::find_mapped_objects(memory_, map, cpu);
  InjectionFacts facts{.is_static = std::ranges::none_of(objects.objects(), &tracer::LoadedObject::is_loader),
                       .allocators = 0};
  const tracer::LoadedObject* library = nullptr;
  const elf::MappedObject* mapped_library = nullptr;
  for (uint32_t i = 0; i < objects.objects().size(); ++i) {
    const tracer::LoadedObject& object = objects.objects()[i];
    const auto at = std::ranges::find(mapped_objects, object.start, [](const auto& each) { return each.range.begin; });
    if (at == mapped_objects.end() || object.path.size() >= wire::InjectedModule::kMaxPathBytes) continue;
    if (modules_.size() == wire::kMaxInjectedModules) return base::fail("it has more than {} objects", modules_.size());
    modules_.push_back(module_of(object, *at));
    facts.is_go |= object.is_go;
    const bool defines_malloc = std::ranges::any_of(object.functions, [](const tracer::FoundFunction& function) {
      return function.watch == tracer::Watch::kCall && function.function == wire::Function::kMalloc;
    });
    if (!defines_malloc) continue;
    ++facts.allocators;
    library = &object;
    mapped_library = &*at;
    facts.is_glibc = object.is_libc && object.allocator.size() != 0;
  }
  HEAPTAP_TRY(check_injection(facts));
  allocator_ = library->allocator;
  near_ = library->code.empty() ? base::AddressRange{} : library->code.front();
  instruction_ = tracer::find_call_instruction(map, cpu, memory_);
  first_stack_ = process::read_first_stack_pointer(live_thread);
  if (instruction_ == 0 || first_stack_ == 0) return base::fail("the places of its stack and its vDSO are unknown");
  const elf::ObjectFile file = elf::open_object_file_bounded(live_thread, *mapped_library);
  std::vector<base::AddressRange> replaced;
  for (unsigned hook = 0; hook < wire::kInjectedHooks; ++hook) {
    const auto found = std::ranges::find_if(library->functions, [&](const tracer::FoundFunction& function) {
      return function.watch == tracer::Watch::kCall && function.function == kHooked[hook] &&
             function.form == tracer::Form::kPlain;
    });
    const bool is_there = found != library->functions.end();
    const bool is_known = is_there && std::ranges::any_of(functions_, [&](const Function& other) {
                            return other.plan.function == found->address;
                          });
    if (is_known) continue;
    if (!is_there && is_needed(kHooked[hook])) return base::fail("its C library has no {}", kHookedNames[hook]);
    if (!is_there) continue;
    std::vector<uint8_t> code(base::at_most(kMaxFunctionBytes, found->size_bytes));
    code.resize(memory_.read_some(found->address, code.data(), code.size()));
    if (code != read_file_code(file, *mapped_library, found->address, code.size()))
      return base::fail("{} is changed in memory: another tool (a uprobe, perf, frida) is at work there",
                        kHookedNames[hook]);
    auto plan = plan_patch({found->address, code});
    if (!plan && is_needed(kHooked[hook]))
      return base::fail("{} can't be patched: {}", kHookedNames[hook], plan.error().message);
    if (!plan) continue;
    replaced.push_back({plan->site, plan->site + plan->replaced().size()});
    functions_.push_back({.hook = hook, .plan = std::move(*plan)});
  }
  for (const base::AddressRange& range : library->code) {
    std::vector<uint8_t> code(base::at_most(kMaxCodeBytes, range.size()));
    code.resize(memory_.read_some(range.begin, code.data(), code.size()));
    if (code.size() != range.size() || jumps_into(code, range.begin, replaced))
      return base::fail("other code of its C library jumps into what would be patched");
  }
  return {};
}

// Near the functions: below or above them, as close as there is room for it, apart from other mappings.
base::Result<> Injection::find_place() {
  constexpr uint64_t kApart = 1u << 20;
  constexpr uint64_t kFar = uint64_t{1} << 30;
  const uint64_t wanted = mapped_bytes();
  uint64_t best = 0;
  uint64_t best_distance = kFar;
  uint64_t gap = 1u << 20;
  const auto offer = [&](uint64_t place) {
    const uint64_t distance = place > near_.begin ? place - near_.begin : near_.begin - place;
    if (distance >= best_distance) return;
    best = place;
    best_distance = distance;
  };
  const auto look = [&](uint64_t begin, uint64_t end) {
    if (end < begin || end - begin < wanted + 2 * kApart) return;
    offer(end - kApart - wanted);
    offer(begin + kApart);
  };
  for (const Mapping& mapping : process::read_memory_map(process::find_live_thread(process_))) {
    if (!mapping.is_kernels("[stack]")) look(gap, mapping.range.begin);  // it grows, too
    gap = mapping.range.end;
    if (mapping.is_kernels("[heap]")) gap += kFar;  // it grows
  }
  if (best == 0) return base::fail("no room near its C library");
  start_ = base::page_begin(best);
  return {};
}

base::Result<> Injection::make_trampolines() {
  trampolines_.clear();
  const std::vector<uint8_t> image = image_.placed_at(image_start());
  wire::InjectedAgent contract;
  std::memcpy(&contract, image.data() + image_.contract_offset(), sizeof(contract));
  constexpr size_t kAlignment = 16;
  for (Function& function : functions_) {
    const uint64_t at = start_ + trampolines_.size();
    const auto made = make_trampoline(function.plan, at, reinterpret_cast<uintptr_t>(contract.hooks[function.hook]));
    if (!made) return std::unexpected(made.error());
    originals_[function.hook] = at;
    function.entry = at + made->entry;
    trampolines_.insert(trampolines_.end(), made->code.begin(), made->code.end());
    trampolines_.resize((trampolines_.size() + kAlignment - 1) / kAlignment * kAlignment, 0xcc);
  }
  if (trampolines_.size() > kTrampolineBytes) return base::fail("its functions take too much room");
  return {};
}

std::vector<uint8_t> Injection::make_image(const GivenLog& log) const {
  std::vector<uint8_t> image = image_.placed_at(image_start());
  wire::InjectedAgent contract;
  std::memcpy(&contract, image.data() + image_.contract_offset(), sizeof(contract));
  std::ranges::copy(originals_, contract.originals);
  contract.log_bytes = log.bytes;
  contract.code_start = start_;
  contract.code_bytes = mapped_bytes();
  contract.allocator_start = allocator_.begin;
  contract.allocator_end = allocator_.end;
  contract.first_stack = first_stack_;
  contract.module_count = modules_.size();
  std::ranges::copy(modules_, contract.modules);
  std::memcpy(image.data() + image_.contract_offset(), &contract, sizeof(contract));
  return image;
}

}  // namespace heaptap::inject
