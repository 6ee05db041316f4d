#include "capture/tracer/breakpoint_table.h"

#include <algorithm>

namespace heaptap::tracer {

BreakpointTable::~BreakpointTable() { lift_all(memory_); }

Site* BreakpointTable::find(uint64_t address) {
  const auto known = sites_.find(address);
  return known == sites_.end() ? nullptr : known->second.get();
}

Site* BreakpointTable::add(uint64_t address, uint32_t object) {
  if (Site* known = find(address)) return known;
  auto site = std::make_unique<Site>();
  site->address = address;
  site->object = object;
  read_code(*site);
  if (!cpu_.decode(address, site->instruction()).can_emulate) return nullptr;
  return sites_.emplace(address, std::move(site)).first->second.get();
}

void BreakpointTable::read_code(Site& site) {
  site.code_bytes = site.code.size();
  while (site.code_bytes > 0 && !memory_.read(site.address, site.code.data(), site.code_bytes)) --site.code_bytes;
}

Site* BreakpointTable::await_return(uint64_t address, uint32_t object) {
  std::unique_ptr<Site>& known = sites_[address];
  if (known == nullptr) {
    known = std::make_unique<Site>();
    known->address = address;
    known->object = object;
  }
  // New code may have been written there since the last wait.
  if (!known->planted && !known->is_permanent()) read_code(*known);
  if (known->code_bytes == 0 || !plant(*known)) return nullptr;
  ++known->awaited_returns;
  return known.get();
}

// The site stays: another thread may have hit it without having reported yet.
void BreakpointTable::await_no_more(uint64_t address) {
  Site* site = find(address);
  if (site == nullptr || site->awaited_returns == 0) return;
  if (--site->awaited_returns == 0 && !site->is_permanent()) take_out(address);
}

bool BreakpointTable::plant(Site& site) {
  if (!site.planted) site.planted = memory_.write(site.address, cpu_.breakpoint().data(), cpu_.breakpoint().size());
  return site.planted;
}

void BreakpointTable::take_out(uint64_t address) {
  Site* site = find(address);
  if (site == nullptr || !site->planted) return;
  // Only breakpoints that are still ours: the memory may have been reused.
  site->planted = is_in(memory_, address) && !memory_.write(address, site->code.data(), cpu_.breakpoint().size());
}

void BreakpointTable::forget(uint32_t object) {
  std::erase_if(sites_, [object](const auto& entry) { return entry.second->object == object; });
}

void BreakpointTable::lift_all(arch::TargetMemory& memory) const {
  for (const auto& [address, site] : sites_) {
    // Only breakpoints that are still ours: the memory may have been reused.
    if (site->planted && is_in(memory, address)) memory.write(address, site->code.data(), cpu_.breakpoint().size());
  }
}

bool BreakpointTable::is_in(arch::TargetMemory& memory, uint64_t address) const {
  const std::span<const uint8_t> breakpoint = cpu_.breakpoint();
  std::array<uint8_t, arch::Cpu::kMaxInstructionBytes> there{};
  return memory.read(address, there.data(), breakpoint.size()) &&
         std::ranges::equal(std::span(there).first(breakpoint.size()), breakpoint);
}

bool BreakpointTable::are_all_in(arch::TargetMemory& memory) const {
  return !sites_.empty() && std::ranges::all_of(sites_, [&](const auto& entry) {
    return !entry.second->planted || is_in(memory, entry.first);
  });
}

void BreakpointTable::copy_from(const BreakpointTable& parent) {
  for (const auto& [address, site] : parent.sites_) {
    auto copy = std::make_unique<Site>(*site);
    // The parent's may have been inserted or removed after the fork.
    const std::span<const uint8_t> breakpoint = cpu_.breakpoint();
    const bool is_programs = std::ranges::equal(std::span(copy->code).first(breakpoint.size()), breakpoint);
    copy->planted = is_in(memory_, address) && !is_programs;
    copy->awaited_returns = 0;
    sites_.emplace(address, std::move(copy));
  }
}

}  // namespace heaptap::tracer
