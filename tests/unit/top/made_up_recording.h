// Fake of a recording in progress: its owner sets what it says.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/report.h"
#include "views/client/recording.h"

namespace heaptap::test {

struct MadeUpStack {
  std::string function = "malloc";
  std::vector<std::string> frames;  // innermost first
  bool has_lines = true;
  report::StackCount count;
  report::Purpose purpose = report::Purpose::kProgram;
};

class MadeUpRecording : public client::Recording, public client::LiveControl {
 public:
  bool live = true;
  std::vector<client::Process> all{{.pid = 7731, .program = "./gate", .via = "agent", .runs = true}};
  client::Figures now{.pid = 7731, .time_ns = 60'000'000'000, .log_used_bytes = 1, .log_limit_bytes = 8};
  client::Freshness fresh;
  std::optional<uint64_t> last_event_ns;  // up to which the trace tells; none: now
  report::Totals totals;
  std::vector<MadeUpStack> stacks;
  std::vector<report::ThreadEntry> threads;
  std::vector<model::Mark> all_marks;
  std::vector<client::News> news;
  std::vector<std::string> asked;  // what was steered
  report::KnownVerdicts known;
  report::BlockCount possible;  // lost
  std::string failure;          // of reports; empty: none
  uint32_t scans = 0;
  std::vector<uint64_t> named_ids;  // whose names were asked for
  std::vector<uint32_t> images;     // that reports were asked of

  // Before an answer: what an animation changes.
  virtual void tick() {}

  [[nodiscard]] bool is_live() const override { return live; }
  [[nodiscard]] std::string name() const override { return "7731"; }
  [[nodiscard]] client::LiveControl* control() override { return this; }
  base::Result<std::vector<client::Process>> processes() override { return all; }
  base::Result<client::Figures> figures(uint32_t pid) override {
    tick();
    now.pid = pid;
    now.scans = scans;
    return now;
  }
  base::Result<client::Settings> settings() override { return client::Settings{}; }
  base::Result<std::vector<model::Mark>> marks(uint32_t /*pid*/) override { return all_marks; }
  base::Result<report::Report> report(client::ProgramId program, const query::Query& query) override {
    return glance(program, query);
  }
  void set_give_up(std::function<bool()> /*give_up*/) override {}
  base::Result<report::Report> glance(client::ProgramId program, const query::Query& query) override {
    images.push_back(program.image);
    if (!failure.empty()) return base::fail("{}", failure);
    report::Report report;
    report.last_event_ns = last_event_ns.value_or(now.time_ns);
    report.totals = totals;
    report.leaks.scanned = query.leaks.scans && scans != 0;
    report.leaks.scan.number = scans;
    report.leaks.possible = possible;
    report.known = known;
    if (query.counting.statistics) report.threads = threads;
    if (query.listing.counts) {
      for (const MadeUpStack& stack : stacks) {
        report.counts.push_back(stack.count);
        if (!report.leaks.scanned) report.counts.back().leaked_bytes = report.counts.back().leaked_blocks = 0;
        if (report.leaks.scanned) report.leaks.definite += {stack.count.leaked_blocks, stack.count.leaked_bytes};
      }
    }
    if (query.listing.stacks) list(report, query);
    return report;
  }
  [[nodiscard]] client::Freshness freshness(client::ProgramId /*program*/) override { return fresh; }
  base::Result<std::string> trace_file(client::ProgramId /*program*/) override {
    return base::fail("there is no file");
  }
  base::Result<> start(uint32_t pid) override { return steered("start", pid); }
  base::Result<> stop(uint32_t pid) override { return steered("stop", pid); }
  base::Result<> reset(uint32_t pid) override { return steered("reset", pid); }
  base::Result<size_t> mark(uint32_t pid, const std::string& mark_name) override {
    all_marks.push_back({.number = static_cast<uint32_t>(all_marks.size() + 1), .name = mark_name});
    (void)steered("mark " + mark_name, pid);
    return 1;
  }
  base::Result<client::ScanResult> scan(uint32_t pid, client::ScanKind /*kind*/) override {
    (void)steered("scan", pid);
    return client::ScanResult{.number = ++scans};
  }
  base::Result<> set_depth(uint32_t /*depth*/) override { return steered("depth", 0); }
  base::Result<> detach(uint32_t pid) override { return steered("detach", pid); }
  base::Result<> kill(uint32_t pid, const std::string& signal) override { return steered("kill " + signal, pid); }
  [[nodiscard]] int news_descriptor() const override { return -1; }
  std::vector<client::News> take_news() override { return std::exchange(news, {}); }

 private:
  base::Result<> steered(const std::string& what, uint32_t pid) {
    asked.push_back(what + " " + std::to_string(pid));
    return {};
  }

  void list(report::Report& report, const query::Query& query) {
    std::vector<uint64_t> ids = query.listing.stack_ids;
    for (uint64_t id = 1; query.listing.stack_ids.empty() && id <= stacks.size(); ++id) {
      if (query.listing.limit == 0 || ids.size() < query.listing.limit) ids.push_back(id);
    }
    for (const uint64_t id : ids) {
      if (id == 0 || id > stacks.size()) continue;
      named_ids.push_back(id);
      const MadeUpStack& stack = stacks[id - 1];
      report::StackEntry& entry = report.stacks.emplace_back();
      entry.id = id;
      entry.function = stack.function;
      entry.purpose = stack.purpose;
      entry.threads = {1};
      std::vector<report::FrameIndex> frames;
      for (const std::string& function : stack.frames) {
        frames.push_back(static_cast<report::FrameIndex>(report.frames.size()));
        report.frames.push_back({.function = function,
                                 .module = "/usr/bin/gate",
                                 .offset = 0x1234'5678 + report.frames.size(),
                                 .file = stack.has_lines ? "/src/gate.cc" : "",
                                 .line = stack.has_lines ? static_cast<uint32_t>(report.frames.size() + 10) : 0});
      }
      entry.frames = report.frames.add(frames);
    }
  }
};

// A gate that serves requests, keeps sessions and forgets lines of its log.
inline void make_gate(MadeUpRecording& recording) {
  recording.now.resident_bytes = 48u << 20;
  recording.totals = {.allocations = 20'000,
                      .releases = 12'000,
                      .allocated_bytes = 3u << 20,
                      .live_blocks = 8000,
                      .live_bytes = 2'345'678,
                      .peak_live_bytes = 3'456'789};
  recording.threads = {{.number = 1,
                        .kernel_id = 7731,
                        .name = "gate",
                        .allocations = 15'000,
                        .releases = 9000,
                        .allocated_bytes = 2u << 20},
                       {.number = 2,
                        .kernel_id = 7732,
                        .name = "worker",
                        .allocations = 5000,
                        .releases = 3000,
                        .allocated_bytes = 1u << 20}};
  recording.stacks = {{.frames = {"serve(int)", "main"},
                       .count = {.allocations = 9000,
                                 .releases = 5000,
                                 .allocated_bytes = 1'800'000,
                                 .live_blocks = 4000,
                                 .live_bytes = 1'500'000,
                                 .temporary_allocations = 12,
                                 .lifetime_ns = 5000ull * 2'500'000,
                                 .live_since_ns = 20'000'000'000}},
                      {.function = "operator new[]",
                       .frames = {"log_line(std::string const&)", "serve(int)", "main"},
                       .count = {.allocations = 10'000,
                                 .releases = 6000,
                                 .allocated_bytes = 1'000'000,
                                 .live_blocks = 4000,
                                 .live_bytes = 800'000,
                                 .lifetime_ns = 6000ull * 850,
                                 .live_since_ns = 45'000'000'000,
                                 .leaked_bytes = 800'000,
                                 .leaked_blocks = 4000}},
                      {.function = "mmap",
                       .frames = {"arena_grow", "main"},
                       .count = {.allocations = 1,
                                 .allocated_bytes = 1u << 20,
                                 .live_blocks = 1,
                                 .live_bytes = 1u << 20,
                                 .live_since_ns = 100'000'000,
                                 .mapping = true}},
                      {.frames = {"read_options", "main"},
                       .count = {.allocations = 1000,
                                 .releases = 1000,
                                 .allocated_bytes = 45'678,
                                 .temporary_allocations = 1000,
                                 .lifetime_ns = 1000ull * 120}}};
}

// What libstdc++ keeps for exceptions.
inline MadeUpStack emergency_pool() {
  return {.frames = {"pool", "call_init"},
          .count = {.allocations = 1, .allocated_bytes = 72'704, .live_blocks = 1, .live_bytes = 72'704},
          .purpose = report::Purpose::kEmergencyPool};
}

// A second later.
inline void go_on(MadeUpRecording& recording) {
  recording.now.time_ns += 1'000'000'000;
  recording.totals.allocations += 1500;
  recording.totals.releases += 1200;
  recording.totals.live_bytes += 60'000;
  recording.stacks[0].count.allocations += 500;
  recording.stacks[0].count.allocated_bytes += 100'000;
  auto& live_bytes = recording.stacks[0].count.live_bytes;
  live_bytes = {live_bytes.counted() - 40'000, live_bytes.is_known()};
  recording.stacks[1].count.allocations += 1000;
  recording.stacks[1].count.allocated_bytes += 100'000;
  recording.stacks[1].count.live_bytes += 100'000;
}

}  // namespace heaptap::test
