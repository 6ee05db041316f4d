#include "capture/inject/hooked_functions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "capture/elf/dynamic_section.h"
#include "capture/elf/mapped_object.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "capture/inject/injection_check.h"
#include "capture/tracer/loaded_objects.h"
#include "common/arch/native.h"
#include "common/base/sizes.h"
#include "common/wire/functions.h"
#include "common/wire/log.h"

namespace heaptap::inject {
namespace {

using process::Mapping;
using tracer::LoadedObject;

// What the process tells of itself is believed up to these.
constexpr size_t kMaxFunctionBytes = size_t{1} << 20;
constexpr size_t kMaxCodeBytes = size_t{512} << 20;

wire::InjectedModule module_of(const LoadedObject& object, const elf::MappedObject& mapped) {
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

// What the loader and the C library export of that.
void add_places(const LoadedObject& object, const elf::MappedObject& mapped, const process::TracedMemory& memory,
                LoaderPlaces& places) {
  constexpr std::string_view kNames[] = {"_r_debug", "_dl_find_object"};
  const elf::ElfForm form = elf::ElfForm::of_this_machine(sizeof(void*));
  const elf::DynamicSection dynamic(memory, form, mapped.dynamic, mapped.dynamic_bytes, mapped.bias, mapped.range);
  elf::search_symbols(memory, form, dynamic.symbols(memory), kNames,
                      [&](size_t name, const elf::ElfSymbol& symbol, uint64_t) {
                        const uint64_t address = mapped.bias + symbol.value;
                        const auto has_it = [&](const base::AddressRange& range) { return range.contains(address); };
                        if (symbol.value == 0 || !mapped.range.contains(address)) return;
                        if (name == 0) {
                          places.state = address;
                        } else if (std::ranges::any_of(object.code, has_it)) {
                          places.find_object = address;
                        }
                      });
  if (object.is_loader && !object.code.empty()) places.code = object.code.front();
}

class Search {
 public:
  Search(pid_t live_thread, process::TracedMemory& memory, const std::vector<Mapping>& map)
      : thread_(live_thread),
        memory_(memory),
        cpu_(*arch::cpu_of(arch::native::kArchitecture)),
        objects_(live_thread, memory, cpu_) {
    objects_.refresh();
    mapped_ = elf::find_mapped_objects(memory, map, cpu_);
  }

  base::Result<HookedFunctions> run() {
    InjectionFacts facts{.is_static = std::ranges::none_of(objects_.objects(), &LoadedObject::is_loader),
                         .allocators = 0};
    HEAPTAP_TRY(add_modules(facts));
    auto choice = choose({});
    if (!choice) return std::unexpected(choice.error());
    facts.allocators = choice->allocators;
    facts.is_glibc = is_glibc();
    HEAPTAP_TRY(check_injection(facts));
    auto planned = plan(*choice);
    // Without the C++ library's operators their calls are those of malloc and free.
    if (planned && !*planned && choice->why_plain.empty()) {
      choice = choose(base::make_error("an operator of its C++ library can't be hooked").message);
      if (!choice) return std::unexpected(choice.error());
      planned = plan(*choice);
    }
    if (!planned) return std::unexpected(planned.error());
    HEAPTAP_TRY(check_other_code());
    found_.why_plain = choice->why_plain;
    return std::move(found_);
  }

 private:
  const elf::MappedObject* mapped_of(const LoadedObject& object) const {
    const auto at = std::ranges::find(mapped_, object.start, [](const auto& each) { return each.range.begin; });
    return at == mapped_.end() ? nullptr : &*at;
  }

  base::Result<> add_modules(InjectionFacts& facts) {
    for (const LoadedObject& object : objects_.objects()) {
      const elf::MappedObject* const mapped = mapped_of(object);
      if (mapped == nullptr || object.path.size() >= wire::InjectedModule::kMaxPathBytes) continue;
      if (found_.modules.size() == wire::kMaxInjectedModules)
        return base::fail("it has more than {} objects", found_.modules.size());
      found_.modules.push_back(module_of(object, *mapped));
      facts.is_go |= object.is_go;
      facts.speaks |= std::ranges::find(object.functions, tracer::Watch::kSpoken, &tracer::FoundFunction::watch) !=
                      object.functions.end();
      found_.has_cpp |= tracer::has_operators(object);
      if (tracer::maps_for_itself(object)) found_.mapping_owners.emplace_back(object.start, object.end);
      if (object.is_loader || object.is_libc) add_places(object, *mapped, memory_, found_.loader);
      if (!object.is_libc || object.allocator.size() == 0) continue;
      found_.allocator = object.allocator;
      if (!object.code.empty()) found_.library = object.code.front();
    }
    return {};
  }

  [[nodiscard]] bool is_glibc() const { return found_.allocator.size() != 0; }

  base::Result<FunctionChoice> choose(std::string why_plain) {
    const ChoiceQuestions questions{
        .reached_malloc = [this](uint32_t object) { return reached(object, wire::Function::kMalloc); },
        .goes_to_free = [this](uint32_t object, uint64_t function) { return goes_to_free(object, function); }};
    return choose_functions(objects_.objects(), questions, std::move(why_plain));
  }

  uint64_t word(uint64_t at) const {
    uint64_t value = 0;
    return memory_.read_some(at, &value, sizeof(value)) == sizeof(value) ? value : 0;
  }

  uint64_t reached(uint32_t object, wire::Function function) const {
    for (const tracer::NamedSlot& slot : objects_.named_slots(object)) {
      if (slot.function != function) continue;
      const uint64_t target = word(slot.address);
      const int holder = objects_.find(target);
      if (holder >= 0 && holder != static_cast<int>(object)) return target;  // else it isn't bound yet
    }
    return 0;
  }

  // By jumps alone, perhaps through a slot that the loader fills.
  bool goes_to_free(uint32_t index, uint64_t function) const {
    constexpr int kMaxSteps = 8;
    constexpr uint8_t kThroughSlot[] = {0xff, 0x25};  // jmp *…(%rip)
    constexpr uint8_t kLandingPad[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const LoadedObject& object = objects_.objects()[index];
    const auto is_free = [](const tracer::FoundFunction& found) { return found.function == wire::Function::kFree; };
    uint64_t at = function;
    for (int i = 0; i < kMaxSteps; ++i) {
      uint8_t bytes[arch::Cpu::kMaxInstructionBytes];
      const size_t count = memory_.read_some(at, bytes, sizeof(bytes));
      const arch::Instruction instruction = cpu_.decode(at, std::span(bytes).first(count));
      const auto own = std::ranges::find_if(object.functions, is_free);
      if (own != object.functions.end() && at == own->address) return true;
      if (instruction.flow == arch::Flow::kJump) {
        at = instruction.target;
      } else if (instruction.flow == arch::Flow::kIndirectJump) {
        const size_t prefix = bytes[0] == 0xf2 ? 1 : 0;  // bnd
        if (!std::ranges::equal(std::span(bytes).subspan(prefix, 2), kThroughSlot)) return false;
        int32_t distance = 0;
        std::memcpy(&distance, bytes + prefix + 2, sizeof(distance));
        const uint64_t slot = at + instruction.length_bytes + static_cast<uint64_t>(int64_t{distance});
        return std::ranges::any_of(objects_.named_slots(index), [slot](const tracer::NamedSlot& each) {
          return each.address == slot && each.function == wire::Function::kFree;
        });
      } else if (std::ranges::equal(std::span(bytes).first(sizeof(kLandingPad)), kLandingPad)) {
        at += sizeof(kLandingPad);
      } else {
        return false;
      }
    }
    return false;
  }

  // False: not all of the C++ library's can be patched.
  base::Result<bool> plan(const FunctionChoice& choice) {
    found_.functions.clear();
    for (const ChosenFunction& chosen : choice.functions) {
      auto planned = plan_one(chosen);
      if (planned) {
        found_.functions.push_back({chosen, *std::move(planned)});
        continue;
      }
      if (chosen.is_library) return false;
      if (chosen.is_needed) return std::unexpected(planned.error());
    }
    if (found_.functions.size() > wire::kMaxInjectedFunctions) return base::fail("it has too many allocators");
    return true;
  }

  base::Result<PatchPlan> plan_one(const ChosenFunction& chosen) {
    const LoadedObject& object = objects_.objects()[chosen.object];
    const elf::MappedObject* const mapped = mapped_of(object);
    const wire::FunctionFacts& facts = wire::facts_of(chosen.function);
    const auto name = [&] { return fmt::format("{} of {}", facts.name, object.path); };
    if (mapped == nullptr) return base::fail("{} isn't mapped as a whole", object.path);
    std::vector<uint8_t> code(base::at_most(kMaxFunctionBytes, chosen.size_bytes));
    code.resize(memory_.read_some(chosen.address, code.data(), code.size()));
    if (code != read_file_code(*mapped, chosen.address, code.size()))
      return base::fail("{} is changed in memory: another tool (a uprobe, perf, frida) is at work there", name());
    auto plan = plan_patch({chosen.address, code, chosen.arguments});
    if (!plan) return base::fail("{} can't be patched: {}", name(), plan.error().message);
    return *std::move(plan);
  }

  // The object's code at an address, as it is in its file. Empty: unknown.
  std::vector<uint8_t> read_file_code(const elf::MappedObject& object, uint64_t address, size_t bytes) {
    auto known = files_.find(object.range.begin);
    if (known == files_.end())
      known = files_.emplace(object.range.begin, elf::open_object_file_bounded(thread_, object)).first;
    for (const elf::ElfSegment& segment : object.loaded) {
      const uint64_t begin = object.bias + segment.address;
      if (!known->second.file || address < begin || address + bytes > begin + segment.file_bytes) continue;
      std::vector<uint8_t> code(bytes);
      code.resize(
          elf::FileBytes(known->second.file.get()).read_some(segment.offset + (address - begin), code.data(), bytes));
      return code;
    }
    return {};
  }

  // Code that jumps into what would be patched. Functions that aren't needed stay as they are then.
  base::Result<> check_other_code() {
    std::map<uint32_t, std::vector<base::AddressRange>> kept;
    for (const HookedFunction& each : found_.functions) kept[each.chosen.object].push_back(each.plan.kept());
    for (const auto& [object, ranges] : kept) {
      if (!has_jumps(object, ranges)) continue;
      const auto is_met = [this, object](const HookedFunction& each) {
        return each.chosen.object == object && has_jumps(object, {each.plan.kept()});
      };
      std::erase_if(found_.functions, [&](const HookedFunction& each) {
        return !each.chosen.is_needed && !each.chosen.is_library && is_met(each);
      });
      if (std::ranges::any_of(found_.functions, is_met))
        return base::fail("other code of {} jumps into what would be patched", objects_.objects()[object].path);
    }
    return {};
  }

  // Also where that isn't known.
  bool has_jumps(uint32_t index, const std::vector<base::AddressRange>& kept) const {
    return std::ranges::any_of(objects_.objects()[index].code, [&](const base::AddressRange& range) {
      std::vector<uint8_t> code(base::at_most(kMaxCodeBytes, range.size()));
      code.resize(memory_.read_some(range.begin, code.data(), code.size()));
      return code.size() != range.size() || jumps_into(code, range.begin, kept);
    });
  }

  pid_t thread_;
  process::TracedMemory& memory_;
  const arch::Cpu& cpu_;
  tracer::LoadedObjects objects_;
  std::vector<elf::MappedObject> mapped_;
  std::map<uint64_t, elf::ObjectFile> files_;  // by the object's start
  HookedFunctions found_;
};

}  // namespace

base::Result<HookedFunctions> find_hooked_functions(pid_t live_thread, process::TracedMemory& memory,
                                                    const std::vector<Mapping>& map) {
  return Search(live_thread, memory, map).run();
}

}  // namespace heaptap::inject
