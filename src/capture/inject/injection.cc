#include "capture/inject/injection.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "capture/inject/injection_check.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "common/arch/native.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/wire/functions.h"
#include "common/wire/log.h"

namespace heaptap::inject {
namespace {

using process::Mapping;

constexpr int kLooksAtChildren = 300;
constexpr size_t kAlignment = 16;
constexpr size_t kTrampolineCapacity = 112;  // bytes
constexpr uint64_t kApart = 1u << 20;        // from other mappings, which may grow
constexpr uint64_t kFar = uint64_t{1} << 30;

uint64_t distance_of(uint64_t one, uint64_t other) { return one > other ? one - other : other - one; }

bool is_operator(const wire::InjectedFunction& function) {
  return wire::is_cpp(wire::facts_of(static_cast<wire::Function>(function.function)).family);
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
  const std::vector<Mapping> map = process::read_memory_map(live_thread);
  auto found = find_hooked_functions(live_thread, memory_, map);
  if (!found) return std::unexpected(std::move(found).error());
  found_ = *std::move(found);
  return_code_ = find_return_code(map, memory_);
  first_stack_ = process::read_first_stack_pointer(live_thread);
  if (!return_code_.is_there()) return base::fail("its C library's return from signal handlers isn't found");
  if (first_stack_ == 0) return base::fail("the place of its stack is unknown");
  return {};
}

std::vector<Mapping> Injection::read_map() const {
  return process::read_memory_map(process::find_live_thread(process_));
}

// As the log wants it.
void Injection::choose_functions(const GivenLog& log) {
  functions_.clear();
  for (const HookedFunction& each : found_.functions) {
    const ChosenFunction& chosen = each.chosen;
    Function function{.plan = each.plan, .replacement = chosen.call};
    function.told.begin = chosen.address;
    function.told.end = chosen.address + chosen.size_bytes;
    function.told.function = static_cast<uint8_t>(chosen.function);
    function.told.way = chosen.way;
    const bool is_refused = (is_operator(function.told) && (log.parts->flags & wire::kNoCpp) != 0) ||
                            (wire::ends_process(chosen.way) && (log.parts->flags & wire::kScanAtEnd) == 0);
    if (!is_refused) functions_.push_back(std::move(function));
  }
  // The program would see the handlers, or may forbid what they do.
  constexpr wire::InjectedWay kHiding[] = {wire::InjectedWay::kSignalAction, wire::InjectedWay::kControl,
                                           wire::InjectedWay::kNumber};
  const auto is_hooked = [this](wire::InjectedWay way) {
    return std::ranges::find(functions_, way, [](const Function& function) { return function.told.way; }) !=
           functions_.end();
  };
  wants_signals_ = (log.parts->flags & wire::kScanAtEnd) != 0 && std::ranges::all_of(kHiding, is_hooked);
}

Injection::Area& Injection::area_for(const PatchPlan& plan) {
  const auto is_near = [&plan](const Area& area) { return distance_of(area.near.begin, plan.function) < kFar / 2; };
  const auto known = std::ranges::find_if(areas_, is_near);
  if (known != areas_.end()) return *known;
  return areas_.emplace_back(Area{.near = {plan.function, plan.function + plan.head.size()}});
}

// Near the functions: below or above them, as close as there is room for it, apart from other mappings.
base::Result<> Injection::find_places() {
  areas_.assign(1, Area{.near = found_.library});
  for (const Function& function : functions_) area_for(function.plan).capacity_bytes += kTrampolineCapacity;
  for (Area& area : areas_) area.capacity_bytes = base::size_of_known(base::whole_pages(area.capacity_bytes));
  const std::vector<Mapping> map = read_map();
  for (Area& area : areas_) {
    const uint64_t wanted = mapped(area).size();
    uint64_t best = 0;
    uint64_t best_distance = kFar;
    const auto offer = [&](uint64_t place) {
      const uint64_t distance = distance_of(place, area.near.begin);
      const bool is_free = std::ranges::none_of(areas_, [&](const Area& other) {
        return other.start != 0 && place < mapped(other).end + kApart && mapped(other).begin < place + wanted + kApart;
      });
      if (distance >= best_distance || !is_free) return;
      best = place;
      best_distance = distance;
    };
    const auto look = [&](uint64_t begin, uint64_t end) {
      if (end < begin || end - begin < wanted + 2 * kApart) return;
      offer(end - kApart - wanted);
      offer(begin + kApart);
    };
    uint64_t gap = 1u << 20;
    for (const Mapping& mapping : map) {
      if (!mapping.is_kernels("[stack]")) look(gap, mapping.range.begin);  // it grows, too
      gap = mapping.range.end;
      if (mapping.is_kernels("[heap]")) gap += kFar;  // it grows
    }
    if (best == 0) return base::fail("no room near its functions");
    area.start = base::page_begin(best);
  }
  if (areas_.size() > wire::kMaxInjectedAreas) return base::fail("its functions lie too far apart");
  return {};
}

bool Injection::is_agents(uint64_t program_counter) const {
  return std::ranges::any_of(mapped(), [&](const base::AddressRange& each) { return each.contains(program_counter); });
}

std::optional<process::StoppedThread> Injection::as_interrupted(const process::StoppedThread& waiting,
                                                                uint64_t context) const {
  const auto interrupted = read_interrupted(context, memory_);
  const arch::Cpu* const cpu = arch::cpu_of(arch::native::kArchitecture);
  if (!interrupted || cpu == nullptr) return std::nullopt;
  process::StoppedThread came = process::thread_with(waiting.thread_id, *cpu, interrupted->registers);
  came.thread_pointer = waiting.thread_pointer;
  process::add_vector_registers(interrupted->vectors, *cpu, came);
  return came;
}

std::optional<process::StoppedThread> Injection::as_it_came(process::StoppedThread thread,
                                                            const wire::ExitNotice& notice) const {
  constexpr uint16_t kNumbers[] = {3,  6,  12,
                                   13, 14, 15};  // DWARF's, of rbx, rbp, r12 to r15: as injected_hooks.S saves them
  uint64_t words[std::size(kNumbers)] = {};
  if (notice.kind == wire::ExitKind::kSignal) return as_interrupted(thread, notice.live_sp);
  thread.registers.clear();
  if (memory_.read_some(notice.registers, words, sizeof(words)) != sizeof(words)) return std::nullopt;
  for (size_t i = 0; i < std::size(kNumbers); ++i)
    thread.registers.push_back({words[i], thread.thread_id, kNumbers[i]});
  return thread;
}

base::AddressRange Injection::mapped(const Area& area) const {
  const size_t agent_bytes = &area == &areas_.front() ? image_.bytes() : 0;
  return {area.start, area.start + area.capacity_bytes + agent_bytes};
}

std::vector<base::AddressRange> Injection::mapped() const {
  std::vector<base::AddressRange> ranges;
  for (const Area& area : areas_) ranges.push_back(mapped(area));
  return ranges;
}

base::Result<> Injection::add_trampoline(Function& function, uint64_t hook) {
  Area& area = area_for(function.plan);
  const uint64_t at = area.start + area.code.size();
  const auto made = make_trampoline(function.plan, at, hook);
  if (!made) return std::unexpected(made.error());
  function.told.original = at;
  function.entry = at + made->entry;
  area.code.insert(area.code.end(), made->code.begin(), made->code.end());
  area.code.resize((area.code.size() + kAlignment - 1) / kAlignment * kAlignment, 0xcc);
  if (area.code.size() > area.capacity_bytes) return base::fail("its functions take too much room");
  return {};
}

base::Result<> Injection::make_trampolines() {
  const std::vector<uint8_t> image = image_.placed_at(image_start());
  wire::InjectedAgent contract;
  std::memcpy(&contract, image.data() + image_.contract_offset(), sizeof(contract));
  const auto hooks = reinterpret_cast<uintptr_t>(contract.hooks);
  for (size_t i = 0; i < functions_.size(); ++i)
    HEAPTAP_TRY(add_trampoline(functions_[i], hooks + i * contract.hook_bytes));
  for (Function& function : functions_) {
    if (function.replacement == 0) continue;
    const auto called =
        std::ranges::find(functions_, function.replacement, [](const Function& other) { return other.told.begin; });
    if (called == functions_.end()) return base::fail("what its operators call isn't hooked");
    function.told.call = called->told.original;
  }
  return find_sites();
}

base::Result<> Injection::find_sites() {
  sites_.clear();
  for (const Function& function : functions_) {
    const std::vector<uint8_t> patch = make_patch(function.plan, function.entry);
    const std::span<const uint8_t> own = function.plan.replaced();
    const std::vector<uint8_t> program(own.begin(), own.end());
    if (patch.empty() || patch.size() > wire::InjectedSite::kMaxBytes) return base::fail("no memory near its code");
    sites_.push_back(
        {.site = function.plan.site, .from = program, .to = patch, .program = program, .entry = function.entry});
  }
  return {};
}

namespace {

// Around the functions that may call others, those close together in one. They ascend.
void add_spans(wire::InjectedAgent& contract) {
  for (uint64_t i = 0; i < contract.function_count; ++i) {
    const wire::InjectedFunction& function = contract.functions[i];
    if (function.way >= wire::InjectedWay::kMapping) continue;  // it calls no other one
    wire::InjectedSpan* const last = contract.span_count == 0 ? nullptr : &contract.spans[contract.span_count - 1];
    const bool is_close = last != nullptr && function.begin - last->end < kApart;
    if (last != nullptr && (is_close || contract.span_count == wire::kMaxInjectedSpans)) {
      last->end = std::max(last->end, function.end);
    } else {
      contract.spans[contract.span_count++] = {function.begin, function.end};
    }
  }
}

}  // namespace

std::vector<uint8_t> Injection::make_image(const GivenLog& log) const {
  std::vector<uint8_t> image = image_.placed_at(image_start());
  wire::InjectedAgent contract;
  std::memcpy(&contract, image.data() + image_.contract_offset(), sizeof(contract));
  const base::AddressRange own = mapped(areas_.front());
  contract.log_bytes = log.bytes;
  contract.code_start = own.begin;
  contract.code_bytes = own.size();
  contract.allocator_start = found_.allocator.begin;
  contract.allocator_end = found_.allocator.end;
  contract.first_stack = first_stack_;
  contract.loader_start = found_.loader.code.begin;
  contract.loader_end = found_.loader.code.end;
  contract.loader_state = found_.loader.state;
  contract.find_object = found_.loader.find_object;
  contract.mapping_owner_count = std::min<size_t>(found_.mapping_owners.size(), wire::kMaxMappingOwners);
  for (size_t i = 0; i < contract.mapping_owner_count; ++i)
    contract.mapping_owners[i] = {found_.mapping_owners[i].begin, found_.mapping_owners[i].end};
  contract.library = {found_.library.begin, found_.library.end};
  contract.has_destructors = found_.has_cpp ? 1 : 0;
  contract.function_count = functions_.size();
  std::ranges::transform(functions_, contract.functions, &Function::told);
  add_spans(contract);
  contract.process = static_cast<uint64_t>(process_);
  contract.injector = static_cast<uint64_t>(injector_);
  contract.injector_start = process::read_start_time(injector_);
  for (const base::AddressRange& range : mapped()) contract.areas[contract.area_count++] = {range.begin, range.end};
  for (size_t i = 0; i < functions_.size(); ++i) {
    wire::InjectedSite& site = contract.sites[contract.site_count++];
    site = {.address = sites_[i].site,
            .entry = functions_[i].entry,
            .bytes = sites_[i].to.size(),
            .patch = {},
            .program = {}};
    std::ranges::copy(sites_[i].to, site.patch);
    std::ranges::copy(sites_[i].program, site.program);
  }
  contract.module_count = found_.modules.size();
  std::ranges::copy(found_.modules, contract.modules);
  std::memcpy(image.data() + image_.contract_offset(), &contract, sizeof(contract));
  return image;
}

}  // namespace heaptap::inject
