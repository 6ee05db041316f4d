#include "analysis/report/process_sums.h"

#include <algorithm>
#include <tuple>

#include "analysis/report/leak_weight.h"

namespace heaptap::report {

namespace {

bool has_larger_peak(const ProcessEntry& process, const ProcessEntry* other) {
  const base::Known<uint64_t>& peak = process.totals.peak_live_bytes;
  return peak.is_known() && (other == nullptr || peak.counted() > other->totals.peak_live_bytes.counted());
}

}  // namespace

ProcessSums sum_of(const std::vector<ProcessEntry>& processes) {
  ProcessSums sums;
  base::Known<uint64_t> largest_peak;
  for (const ProcessEntry& process : processes) {
    if (!process.failure.empty()) {
      ++sums.failed;
      continue;
    }
    const Totals& totals = process.totals;
    sums.allocations += totals.allocations.counted();
    sums.allocated_bytes += totals.allocated_bytes.counted();
    sums.bad_releases += totals.bad_releases.counted();
    sums.double_releases += totals.double_releases.counted();
    sums.mismatched_releases += totals.mismatched_releases.counted();
    sums.lost_events += process.capture.lost_events;
    if (has_larger_peak(process, sums.largest)) sums.largest = &process;
    largest_peak.raise_to(totals.peak_live_bytes);
    sums.largest_peak_error = std::max(sums.largest_peak_error, totals.peak_error_bytes);
    if (!process.leaks.scanned) {
      if (!process.capture.executed) ++sums.unscanned;
      continue;
    }
    if (!process.known.leaks) ++sums.uncertain;
    sums.definite += process.leaks.definite;
    sums.lost_in_pools += lost_in_pools(process.leaks);
    sums.indirect += process.leaks.indirect;
    sums.possible += process.leaks.possible;
  }
  if (sums.failed != 0) largest_peak.set_unknown();
  sums.largest_peak = largest_peak.if_known();
  return sums;
}

base::Known<uint64_t> peak_of(const Report& report) {
  if (!report.of_run) return report.totals.peak_live_bytes;
  const ProcessSums sums = sum_of(report.processes);
  const uint64_t largest = sums.largest == nullptr ? 0 : sums.largest->totals.peak_live_bytes.counted();
  return {largest, sums.largest_peak.has_value()};
}

uint64_t peak_error_of(const Report& report) {
  return report.of_run ? sum_of(report.processes).largest_peak_error : report.totals.peak_error_bytes;
}

const ProcessEntry* peak_process_of(const Report& report) {
  return report.of_run ? sum_of(report.processes).largest : nullptr;
}

ProcessEntry entry_of(const Report& report) {
  ProcessEntry entry{.capture = report.capture,
                     .image = 0,
                     .trace_path = report.trace_path,
                     .failure = "",
                     .totals = report.totals,
                     .leaks = report.leaks,
                     .known = report.known};
  entry.capture.suppressions.clear();
  return entry;
}

std::vector<const ProcessEntry*> largest_first(std::span<const ProcessEntry> processes) {
  std::vector<const ProcessEntry*> sorted;
  for (const ProcessEntry& process : processes) sorted.push_back(&process);
  const auto rank = [](const ProcessEntry* process) {
    return std::tuple(process->capture.executed, ~process->leaks.definite.bytes,
                      ~process->totals.peak_live_bytes.counted());
  };
  std::ranges::stable_sort(sorted, {}, rank);
  return sorted;
}

const ProcessEntry* leaking_of_run(std::span<const ProcessEntry> processes) {
  if (processes.size() < 2 || leaks_lead(processes.front().totals, processes.front().leaks)) return nullptr;
  const ProcessEntry* const most = largest_first(processes.subspan(1)).front();
  const ProcessEntry& first = processes.front();
  if (!is_of_weight(first.totals, first.leaks, lost_or_possibly(most->leaks))) return nullptr;
  return most->failure.empty() && most->leaks.scanned && leaks_for_certain(most->leaks) ? most : nullptr;
}

namespace {

// At their peaks, of blocks and of mapped memory together.
uint64_t memory_of(const Totals& totals) {
  return totals.peak_live_bytes.counted() + (totals.mapped.are_known() ? totals.mapped.memory.peak_bytes : 0);
}

}  // namespace

const ProcessEntry* largest_of_run(std::span<const ProcessEntry> processes) {
  constexpr uint64_t kFirstTimes = 2;
  const ProcessEntry* largest = nullptr;
  uint64_t lost_bytes = 0;
  for (const ProcessEntry& process : processes) {
    if (!process.failure.empty()) continue;
    const Totals& totals = process.totals;
    const bool has_errors = totals.bad_releases.counted() != 0 || totals.double_releases.counted() != 0 ||
                            totals.mismatched_releases.counted() != 0;
    if (has_errors) return nullptr;
    if (process.leaks.scanned) lost_bytes += lost_or_possibly(process.leaks);
    if (process.capture.executed || !process.known.any || !totals.peak_live_bytes.is_known()) continue;
    if (largest == nullptr || memory_of(totals) > memory_of(largest->totals)) largest = &process;
  }
  if (largest == nullptr || largest == processes.data()) return nullptr;
  // All that is lost is weighed against this one's memory: a trivial process doesn't come first for a few bytes. Of little nobody asks.
  constexpr uint64_t kLeastBytes = 1 << 20;
  const bool is_small = memory_of(largest->totals) < kLeastBytes;
  if (lost_bytes != 0 && (is_small || is_of_weight(largest->totals, largest->leaks, lost_bytes))) return nullptr;
  return memory_of(largest->totals) >= kFirstTimes * memory_of(processes.front().totals) ? largest : nullptr;
}

bool mapped_leads(const Totals& totals, uint64_t peak_live_bytes) {
  return totals.mapped.are_known() && totals.mapped.memory.peak_bytes > peak_live_bytes;
}

const ProcessEntry* mapper_of_run(std::span<const ProcessEntry> processes) {
  const ProcessEntry* mapper = nullptr;
  uint64_t most = 0;
  for (const ProcessEntry& process : processes) {
    if (!process.failure.empty()) continue;
    const Totals& totals = process.totals;
    const uint64_t mapped = totals.mapped.are_known() ? totals.mapped.memory.peak_bytes : 0;
    if (mapped > most) mapper = &process;
    most = std::max({most, mapped, totals.peak_live_bytes.counted()});
    if (mapper != nullptr && mapper->totals.mapped.memory.peak_bytes < most) mapper = nullptr;
  }
  return mapper == processes.data() ? nullptr : mapper;
}

std::vector<ProgramEntry> programs_of(std::span<const ProcessEntry> processes) {
  std::vector<ProgramEntry> programs;
  for (const ProcessEntry* process : largest_first(processes)) {
    const model::Capture& capture = process->capture;
    const std::string& command = capture.command.empty() ? capture.executable : capture.command.front();
    const std::string name = command.substr(command.rfind('/') + 1);
    const auto known = std::ranges::find(programs, name, &ProgramEntry::program);
    ProgramEntry& program = known != programs.end() ? *known : programs.emplace_back(name);
    program.processes.push_back(*process);
  }
  const auto rank = [](const ProgramEntry& program) {
    const ProcessSums sums = sum_of(program.processes);
    return std::tuple(~sums.definite.bytes, ~sums.largest_peak.value_or(0));
  };
  std::ranges::stable_sort(programs, {}, rank);
  return programs;
}

}  // namespace heaptap::report
