// What an injector has left in a process that was killed: its own contract says what that is. It is the process's word: nothing is written
// that this process couldn't write itself, and nothing is removed that doesn't look as it says.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <vector>

#include "capture/inject/injection.h"
#include "capture/inject/injector.h"
#include "capture/log/log_memory.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "capture/tracer/guardian_protection.h"
#include "common/base/sizes.h"
#include "common/wire/injected_agent.h"

namespace heaptap::inject {
namespace {

using process::Mapping;

// Its code is followed by its data, in which the contract lies at a place that the image knows.
bool read_contract_in(const Mapping& code, const Mapping& data, const AgentImage& image, const MemoryFile& memory,
                      wire::InjectedAgent& contract) {
  const bool is_pair = code.is_anonymous() && code.executable && !code.writable && data.is_anonymous() &&
                       data.writable && data.range.begin == code.range.end && code.range.size() >= image.data_offset();
  if (!is_pair) return false;
  const uint64_t start = code.range.end - image.data_offset();
  return memory.read(start + image.contract_offset(), &contract, sizeof(contract)) &&
         contract.magic == wire::kInjectedAgentMagic && contract.code_start == code.range.begin;
}

std::optional<wire::InjectedAgent> find_contract(const std::vector<Mapping>& map, const AgentImage& image,
                                                 const MemoryFile& memory) {
  wire::InjectedAgent contract;
  for (size_t i = 0; i + 1 < map.size(); ++i) {
    if (read_contract_in(map[i], map[i + 1], image, memory, contract)) return contract;
  }
  return std::nullopt;
}

// Whether an injector records the process that lives. A forked child has a copy of its parent's agent, which nobody answers.
bool is_injector_alive(const wire::InjectedAgent& contract, pid_t process) {
  if (contract.process != static_cast<uint64_t>(process)) return false;
  const auto injector = static_cast<pid_t>(contract.injector);
  const auto status = process::read_thread_status(injector);
  return status && !status->has_ended() && contract.injector_start != 0 &&
         process::read_start_time(injector) == contract.injector_start;
}

bool holds(const std::vector<Mapping>& map, const wire::InjectedSpan& span, const auto& is_such) {
  const Mapping* const found = process::find_mapping(map, span.begin);
  return found != nullptr && span.begin < span.end && span.end <= found->range.end && is_such(*found);
}

bool is_log(const Mapping& mapping) { return mapping.name.find(log::kLogName) != std::string::npos; }

// The code at a site is the program's, or the patch, or has a breakpoint before the rest of one of them.
bool is_as_left(const Replacement& site, const MemoryFile& memory) {
  std::vector<uint8_t> there(site.to.size());
  if (!memory.read(site.site, there.data(), there.size())) return false;
  const auto is_rest_of = [&](const std::vector<uint8_t>& code) {
    return std::ranges::equal(there | std::views::drop(1), code | std::views::drop(1));
  };
  const bool is_first = there[0] == kBreakpointByte || there[0] == site.to[0] || there[0] == site.program[0];
  return is_first && (is_rest_of(site.to) || is_rest_of(site.program));
}

}  // namespace

base::Result<std::unique_ptr<Injection>> Injection::find_leftover(pid_t process, const AgentImage& image) {
  const pid_t live_thread = process::find_live_thread(process);
  const std::vector<Mapping> map = process::read_memory_map(live_thread);
  const auto contract = find_contract(map, image, MemoryFile(live_thread));
  if (!contract) return nullptr;
  if (contract->bytes != sizeof(*contract)) return base::fail("another version of heaptap has left its agent in it");
  if (is_injector_alive(*contract, process)) return base::fail("process {} records it already", contract->injector);
  std::unique_ptr<Injection> found(new Injection(process, live_thread, image));
  HEAPTAP_TRY(found->take_over(*contract, map));
  return found;
}

namespace {

base::Result<> check_one_unrecorded(pid_t process, const AgentImage& image) {
  constexpr int kTries = 300;
  constexpr useconds_t kBetweenUs = 10'000;
  const pid_t live_thread = process::find_live_thread(process);
  const auto contract = find_contract(process::read_memory_map(live_thread), image, MemoryFile(live_thread));
  if (!contract) return {};
  for (int i = 0; is_injector_alive(*contract, process); ++i) {
    if (i == kTries || !tracer::is_left_alone(static_cast<pid_t>(contract->injector)))
      return base::fail("process {} records process {} already", contract->injector, process);
    usleep(kBetweenUs);  // of a heaptap that was killed: it leaves soon
  }
  return {};
}

}  // namespace

base::Result<> check_unrecorded(std::span<const pid_t> processes, const std::string& agent) {
  const auto image = AgentImage::read(agent);
  if (!image) return {};
  for (const pid_t process : processes) HEAPTAP_TRY(check_one_unrecorded(process, *image));
  return {};
}

base::Result<> Injection::take_over(const wire::InjectedAgent& contract, const std::vector<Mapping>& map) {
  const auto changed = base::fail("what heaptap has left in it isn't as it was");
  const auto is_code = [](const Mapping& mapping) { return mapping.is_anonymous() && mapping.executable; };
  const auto is_other = [](const Mapping& mapping) {
    return !mapping.executable && (mapping.is_anonymous() || is_log(mapping));
  };
  const uint64_t image_end = contract.code_start + contract.code_bytes;
  if (contract.code_bytes < image_.bytes() || contract.area_count > wire::kMaxInjectedAreas ||
      contract.other_count > wire::kMaxInjectedMappings || contract.site_count > wire::kMaxInjectedFunctions)
    return changed;
  areas_.assign(1, Area{.near = {},
                        .capacity_bytes = base::size_of_known(contract.code_bytes - image_.bytes()),
                        .start = contract.code_start});
  for (const wire::InjectedSpan& span : std::span(contract.areas).first(base::size_of_known(contract.area_count))) {
    if (span.begin == contract.code_start && span.end == image_end) continue;
    if (holds(map, span, is_code))
      areas_.push_back(
          Area{.near = {}, .capacity_bytes = base::size_of_known(span.end - span.begin), .start = span.begin});
  }
  for (const wire::InjectedSpan& span : std::span(contract.others).first(base::size_of_known(contract.other_count))) {
    if (holds(map, span, is_other)) others_.push_back({span.begin, span.end});
  }
  for (const wire::InjectedSite& site : std::span(contract.sites).first(base::size_of_known(contract.site_count))) {
    if (site.bytes < 2 || site.bytes > wire::InjectedSite::kMaxBytes) return changed;
    const std::vector<uint8_t> program(site.program, site.program + site.bytes);
    Replacement known{.site = site.address,
                      .from = program,
                      .to = std::vector<uint8_t>(site.patch, site.patch + site.bytes),
                      .program = program,
                      .entry = site.entry};
    const auto is_program = [](const Mapping& mapping) { return mapping.has_file() && mapping.executable; };
    if (!holds(map, {site.address, site.address + site.bytes}, is_program)) continue;  // unloaded since
    if (!is_as_left(known, file_)) return changed;
    sites_.push_back(std::move(known));
  }
  return_code_ = find_return_code(map, memory_);
  has_signals_ = contract.order != wire::InjectedOrder::kBegin;
  return {};
}

base::Result<> Injection::clear() {
  stop_recording();
  may_be_borrowed_ = true;  // for an order that nobody waits for any more
  if (has_signals_ && !have_obeyed(wire::InjectedOrder::kGiveBackSignals, kPatience))
    return base::fail("its signals can't be given back to it now");
  const bool is_patched =
      std::ranges::any_of(sites_, [&](const Replacement& each) { return !is_code_at(file_, each.site, each.program); });
  if (is_patched) take_traps();
  has_traps_ = true;  // since the other injector, perhaps
  if (is_patched && !put_back(sites_)) return base::fail("what heaptap has left in it can't be taken out now");
  // Where it was killed before it could tell of them.
  for (const Mapping& mapping : read_map()) {
    const bool is_known =
        std::ranges::any_of(others_, [&](const auto& range) { return mapping.range.contains(range.begin); });
    if (is_log(mapping) && !is_known) others_.push_back(mapping.range);
  }
  return take_out();
}

}  // namespace heaptap::inject
