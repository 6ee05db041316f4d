// Fixture that writes a trace with handmade events and leak scans, and analyzes it. The trace can have the test's own modules, so that
// functions and variables have names.
#pragma once
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/query/analyze.h"
#include "event_script.h"
#include "heap_graph.h"
#include "record/trace/trace_reader.h"
#include "record/trace/trace_writer.h"

namespace heaptap::test {

class ScanScript : public testing::Test {
 protected:
  void TearDown() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(supp_);
  }

  // Code address for a stack: after the function's start.
  template <typename Function>
  static uint64_t inside(Function* function) {
    return reinterpret_cast<uint64_t>(function) + 1;
  }

  // Adds a block: allocated as an event, and in all later scans.
  uint32_t block(uint64_t size, const std::vector<uint64_t>& stack, wire::Function function = wire::Function::kMalloc,
                 uint32_t thread = 1) {
    const model::StackId id = stack_of(stack);
    const model::BlockNumber number = script_.allocate(size, thread, function, id);
    const model::SiteId site = script_.site(model::EventKind::kAllocate, function, id);
    blocks_.push_back({.address = 0x10000 * number, .size_bytes = size, .number = number, .site = site, .type = 0});
    return static_cast<uint32_t>(blocks_.size() - 1);
  }

  // Adds a scan of all blocks so far.
  model::HeapScan& scan(const std::vector<GraphEdge>& edges, const std::vector<GraphRoot>& roots) {
    model::HeapScan made = make_scan(static_cast<uint32_t>(blocks_.size()), edges, roots);
    made.blocks = blocks_;
    made.number = static_cast<uint32_t>(scans_.size() + 1);
    made.time_ns = uint64_t{1'000'000} * made.number;
    made.reason = model::ScanReason::kAsked;
    scans_.push_back(std::move(made));
    return scans_.back();
  }

  base::Result<report::Report> analyzed(const query::Query& query) {
    if (!written_) write();
    auto reader = trace::TraceReader::open(path_);
    if (!reader) return std::unexpected(reader.error());
    return query::analyze(*reader, query);
  }

  report::Report report(const query::Query& query) {
    auto made = analyzed(query);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made ? *std::move(made) : report::Report{};
  }

  void write() {
    written_ = true;
    model::Capture capture = capture_;
    capture.command = {"./app"};
    capture.time_resolution_ns = 1000;
    capture.via = "agent";
    for (uint32_t thread = 1; thread <= 3; ++thread) script_.tables.threads.push_back({thread, 100 + thread, "worker"});
    auto writer = trace::TraceWriter::create(path_, true);
    ASSERT_TRUE(writer.has_value()) << writer.error().message;
    ASSERT_TRUE((*writer)->begin(capture).has_value());
    script_.batch.time_marks.insert(script_.batch.time_marks.begin(), {0, 0});
    ASSERT_TRUE((*writer)->write(script_.take(), script_.tables).has_value());
    for (const model::HeapScan& each : scans_) ASSERT_TRUE((*writer)->write_scan(each, script_.tables).has_value());
    capture.ended = true;
    capture.exit.code = 0;
    ASSERT_TRUE((*writer)->finish(capture, script_.tables).has_value());
  }

  void start_again() {
    script_ = {};
    blocks_.clear();
    scans_.clear();
    stacks_.clear();
    written_ = false;
  }

  // Adds the test's own program as a module of the trace.
  void add_own_module() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* self) {
          model::Module module{.path = std::filesystem::read_symlink("/proc/self/exe"), .build_id = {}};
          module.bias = info->dlpi_addr;
          module.start = ~uint64_t{0};
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& header = info->dlpi_phdr[i];
            if (header.p_type != PT_LOAD) continue;
            module.start = std::min(module.start, info->dlpi_addr + header.p_vaddr);
            module.end = std::max(module.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
          }
          static_cast<ScanScript*>(self)->script_.tables.modules.push_back(module);
          return 1;  // the first one is the program
        },
        this);
  }

  test::EventScript script_;
  std::vector<model::ScannedBlock> blocks_;
  std::vector<model::HeapScan> scans_;
  model::Capture capture_;  // the machine of the trace
  bool written_ = false;
  std::string path_ = testing::TempDir() + "scan_script." + std::to_string(getpid()) + ".htap";
  std::string supp_ = path_ + ".supp";

 private:
  model::StackId stack_of(const std::vector<uint64_t>& addresses) {
    for (const auto& [known, id] : stacks_) {
      if (known == addresses) return id;
    }
    stacks_.emplace_back(addresses, script_.stack(addresses));
    return stacks_.back().second;
  }
  std::vector<std::pair<std::vector<uint64_t>, model::StackId>> stacks_;
};

}  // namespace heaptap::test
