// Support for tests of trace/: random tables and batches, a capture with all fields, and invariants of readers' output.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "common/frames/table_frames.h"
#include "common/model/capture.h"
#include "common/model/event.h"
#include "common/model/tables.h"
#include "common/wire/mapping.h"

namespace heaptap::model {

inline bool operator==(const Event& a, const Event& b) {
  return a.site == b.site && a.thread == b.thread && a.size_or_block == b.size_or_block && a.address == b.address;
}
inline bool operator==(const TimeMark& a, const TimeMark& b) {
  return a.first_event == b.first_event && a.time_ns == b.time_ns;
}
inline bool operator==(const BadRelease& a, const BadRelease& b) {
  return a.event == b.event && a.kind == b.kind && a.address == b.address && a.block_size == b.block_size &&
         a.allocated_at == b.allocated_at && a.first_released_at == b.first_released_at &&
         a.block_known == b.block_known;
}
inline bool operator==(const Site& a, const Site& b) {
  return a.kind == b.kind && a.function == b.function && a.stack == b.stack && a.label == b.label;
}
inline bool operator==(const Label& a, const Label& b) {
  return a.parent == b.parent && a.kind == b.kind && a.name == b.name;
}
inline bool operator==(const Stack& a, const Stack& b) { return a.parent == b.parent && a.code == b.code; }
inline bool operator==(const Code& a, const Code& b) {
  return a.address == b.address && a.generation == b.generation && a.exact == b.exact;
}
inline bool operator==(const Module& a, const Module& b) {
  return a.path == b.path && a.build_id == b.build_id && a.bias == b.bias && a.start == b.start && a.end == b.end &&
         a.generation == b.generation && a.flags == b.flags && a.file == b.file;
}
inline bool operator==(const Thread& a, const Thread& b) {
  return a.number == b.number && a.kernel_id == b.kernel_id && a.name == b.name;
}
inline bool operator==(const ExitStatus& a, const ExitStatus& b) { return a.code == b.code && a.signal == b.signal; }

}  // namespace heaptap::model

namespace heaptap::trace::test {

using model::BadRelease;
using model::BadReleaseKind;
using model::Event;
using model::EventBatch;
using model::EventKind;
using model::Tables;
using wire::Function;

inline constexpr uint64_t kResolutionNs = 1000;

// Random tables and batches as made by an EventCoder: all kinds of events, several threads.
class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed), tables_(frames::empty_tables()) { grow(); }

  [[nodiscard]] const Tables& tables() const { return tables_; }
  uint64_t pick(uint64_t below) { return random_() % below; }

  // Adds entries to each table.
  void grow() {
    for (uint64_t i = pick(20) + 1; i > 0; --i) {
      tables_.codes.push_back({random_() >> (16 + pick(40)), static_cast<uint32_t>(pick(3)), pick(20) == 0});
    }
    for (uint64_t i = pick(50) + 1; i > 0; --i) {
      tables_.stacks.push_back({static_cast<model::StackId>(pick(tables_.stacks.size())),
                                static_cast<model::CodeId>(pick(tables_.codes.size()))});
    }
    for (uint64_t i = pick(4); i > 0; --i) {
      tables_.labels.push_back({static_cast<model::LabelId>(pick(tables_.labels.size())),
                                static_cast<wire::LabelKind>(1 + pick(3)), std::string(pick(200), 'l')});
    }
    const bool has_labels = pick(2) == 0;
    for (uint64_t i = pick(30) + 8; i > 0; --i) {
      const auto label = static_cast<model::LabelId>(has_labels ? pick(tables_.labels.size()) : 0);
      tables_.sites.push_back({static_cast<EventKind>(1 + tables_.sites.size() % 9),
                               static_cast<Function>(1 + pick(wire::kFunctionCount - 1)),
                               static_cast<model::StackId>(pick(tables_.stacks.size())), label});
    }
    for (uint64_t i = pick(3); i > 0; --i) {
      model::Module module;
      module.path = "/lib/" + std::string(pick(300), 'x');
      for (uint64_t byte = pick(33); byte > 0; --byte) module.build_id += static_cast<char>(random_());
      module.start = random_() >> 17;
      module.end = module.start + (random_() >> 40);
      module.bias = pick(2) == 0 ? module.start : module.start - (random_() >> 40);
      module.generation = static_cast<uint32_t>(pick(5));
      module.flags = static_cast<uint8_t>(pick(8));
      if (pick(2) == 0) module.file = "/usr/lib/" + std::string(pick(300), 'y');
      tables_.modules.push_back(module);
    }
    for (uint64_t i = pick(3); i > 0; --i) {
      tables_.threads.push_back({static_cast<model::ThreadId>(tables_.threads.size() + 1),
                                 static_cast<uint32_t>(random_()), std::string(pick(16), 't')});
    }
  }

  EventBatch batch(size_t count) {
    EventBatch batch;
    batch.first_block = next_block_;
    for (size_t i = 0; i < count; ++i) {
      if (i == 0 || pick(50) == 0) {
        batch.time_marks.push_back({static_cast<uint32_t>(i), time_ns_ += pick(1000) * kResolutionNs});
      }
      if (pick(10) == 0) thread_ = static_cast<uint32_t>(1 + pick(8));
      add_event(batch);
    }
    return batch;
  }

  // The batch as a reader returns it: with addresses only if requested, and only where no release in the batch replaces them.
  [[nodiscard]] EventBatch as_read(EventBatch batch, bool with_addresses) const {
    // A matching release in the same batch makes the address dispensable.
    std::map<uint64_t, wire::Family> families;
    std::set<uint64_t> released;
    uint64_t number = batch.first_block;
    for (const Event& event : batch.events) {
      const wire::Family family = wire::facts_of(tables_.sites[event.site].function).family;
      if (kind_of(event) == EventKind::kAllocate) families[number++] = family;
      if (kind_of(event) != EventKind::kRelease || !families.contains(event.size_or_block)) continue;
      if (families[event.size_or_block] == family) {
        released.insert(event.size_or_block);
      } else {
        released.erase(event.size_or_block);
      }
    }
    number = batch.first_block;
    for (Event& event : batch.events) {
      if (kind_of(event) != EventKind::kAllocate) continue;
      if (released.contains(number++) || !with_addresses) event.address = 0;
    }
    return batch;
  }

 private:
  [[nodiscard]] EventKind kind_of(const Event& event) const { return tables_.sites[event.site].kind; }

  // Mostly the sites that follow each other again and again, as in a program's loops.
  model::SiteId next_site() {
    if (pick(4) == 0) {
      site_ = static_cast<model::SiteId>(pick(tables_.sites.size()));
    } else {
      site_ = static_cast<model::SiteId>((site_ * 7 + 3) % tables_.sites.size());
    }
    return site_;
  }

  void add_event(EventBatch& batch) {
    Event event{next_site(), thread_, 0, 0};
    switch (kind_of(event)) {
      case EventKind::kAllocate:
        event.size_or_block = pick(5) == 0 ? random_() >> pick(64) : 32;
        if (event.size_or_block == UINT64_MAX) event.size_or_block = 1;
        event.address = (random_() >> 17) & ~uint64_t{15};
        ++next_block_;
        break;
      case EventKind::kRelease:
        event.size_or_block =
            next_block_ > 1 && pick(10) != 0 ? next_block_ - 1 - pick(std::min<uint64_t>(next_block_ - 1, 40)) : 0;
        if (event.size_or_block == model::kUnknownBlock) add_bad_release(batch, event);
        break;
      case EventKind::kUndo:
        break;
      case EventKind::kMap:
      case EventKind::kUnmap:
      case EventKind::kProtect:
        event.address = (random_() >> 17) & ~uint64_t{4095};
        event.size_or_block = pick(1000) * 4096;
        if (kind_of(event) != EventKind::kUnmap) {
          const auto memory = wire::mapped_memory(static_cast<uint8_t>(pick(32)));
          event.size_or_block = wire::make_mapped(event.size_or_block, memory);
        }
        break;
      case EventKind::kPoolAllocate:
      case EventKind::kPoolRelease:
      case EventKind::kPoolDestroy:
        event.address = random_() >> 17;
        event.size_or_block = wire::make_pooled_size(static_cast<uint32_t>(pick(1000)), pick(1000));
        break;
    }
    batch.events.push_back(event);
  }

  void add_bad_release(EventBatch& batch, Event& event) {
    event.address = random_() >> 17;
    BadRelease bad{};
    bad.event = static_cast<uint32_t>(batch.events.size());
    bad.kind = static_cast<BadReleaseKind>(pick(4));
    bad.address = event.address;
    bad.block_known = bad.kind >= BadReleaseKind::kDouble;
    if (bad.block_known) {
      bad.block_size = pick(10000);
      bad.allocated_at = static_cast<model::SiteId>(pick(tables_.sites.size()));
      bad.first_released_at = static_cast<model::SiteId>(pick(tables_.sites.size()));
    }
    batch.bad_releases.push_back(bad);
  }

  std::mt19937_64 random_;
  Tables tables_;
  model::BlockNumber next_block_ = 1;
  uint64_t time_ns_ = 0;
  model::SiteId site_ = 0;
  uint32_t thread_ = 1;
};

inline void expect_same(const EventBatch& read, const EventBatch& expected) {
  EXPECT_EQ(read.first_block, expected.first_block);
  EXPECT_EQ(read.events, expected.events);
  EXPECT_EQ(read.time_marks, expected.time_marks);
  EXPECT_EQ(read.bad_releases, expected.bad_releases);
}

inline void expect_same(const Tables& read, const Tables& expected) {
  EXPECT_EQ(read.modules, expected.modules);
  EXPECT_EQ(read.codes, expected.codes);
  EXPECT_EQ(read.stacks, expected.stacks);
  EXPECT_EQ(read.sites, expected.sites);
  EXPECT_EQ(read.threads, expected.threads);
  EXPECT_EQ(read.labels, expected.labels);
}

// Invariants of the tables from any reader, for any input.
inline void expect_sound(const Tables& tables) {
  for (size_t i = wire::kRootCount; i < tables.stacks.size(); ++i) {
    ASSERT_LT(tables.stacks[i].parent, i);
    ASSERT_LT(tables.stacks[i].code, tables.codes.size());
  }
  for (const model::Site& site : tables.sites) {
    ASSERT_LT(site.stack, tables.stacks.size());
    ASSERT_LT(static_cast<uint8_t>(site.function), wire::kFunctionCount);
    ASSERT_GE(static_cast<uint8_t>(site.kind), 1);
    ASSERT_LE(site.kind, model::kLastEventKind);
    ASSERT_LT(site.label, tables.labels.size());
  }
  for (size_t i = 1; i < tables.labels.size(); ++i) ASSERT_LT(tables.labels[i].parent, i);
  for (const model::Module& module : tables.modules) ASSERT_LE(module.start, module.end);
}

// Invariants of a batch from the reader of event frames.
inline void expect_sound(const EventBatch& batch, const Tables& tables) {
  uint64_t next = batch.first_block;
  for (const Event& event : batch.events) {
    ASSERT_LT(event.site, tables.sites.size());
    const EventKind kind = tables.sites[event.site].kind;
    if (kind == EventKind::kAllocate) ++next;
    if (kind == EventKind::kRelease) {
      ASSERT_LT(event.size_or_block, next);
    }
  }
  for (const BadRelease& bad : batch.bad_releases) {
    ASSERT_LT(bad.event, batch.events.size());
    if (bad.block_known) {
      ASSERT_LT(bad.allocated_at, tables.sites.size());
      ASSERT_LT(bad.first_released_at, tables.sites.size());
    }
  }
  for (const model::TimeMark& mark : batch.time_marks) ASSERT_LE(mark.first_event, batch.events.size());
}

inline model::Capture sample_capture() {
  model::Capture capture;
  capture.command = {"./app", "", "an argument with spaces"};
  capture.executable = "/home/someone/app";
  capture.pid = 4242;
  capture.parent_pid = 1;
  capture.host_name = "host";
  capture.architecture = "x86_64";
  capture.elf_machine = 62;
  capture.recorder = {
      .architecture = "riscv64", .elf_machine = 243, .word_bytes = 8, .page_bytes = 16384, .big_endian = true};
  capture.via = "agent";
  capture.start_unix_ns = 1'700'000'000'000'000'000;
  capture.time_resolution_ns = kResolutionNs;
  capture.heaptap_version = "0.1";
  capture.ended = true;
  capture.exit.signal = 11;
  capture.duration_ns = 5'000'000'000;
  capture.ticks_per_second = 2'400'000'123;
  capture.event_count = 17;
  capture.lost_events = 3;
  capture.notes = {{.kind = model::NoteKind::kScanCutOff, .numbers = {1, 2, 3}},
                   {.kind = model::NoteKind::kReturnsNotSeen, .module = "/lib/libc.so.6", .name = "malloc"}};
  capture.paused_by_tracer_ns = 7;
  capture.collector_cpu_ns = 8;
  capture.collector_peak_rss_bytes = 9;
  capture.log_bytes_used = 10;
  return capture;
}

inline void expect_same(const model::Capture& read, const model::Capture& expected) {
  EXPECT_EQ(read.command, expected.command);
  EXPECT_EQ(read.executable, expected.executable);
  EXPECT_EQ(read.pid, expected.pid);
  EXPECT_EQ(read.parent_pid, expected.parent_pid);
  EXPECT_EQ(read.host_name, expected.host_name);
  EXPECT_EQ(read.architecture, expected.architecture);
  EXPECT_EQ(read.elf_machine, expected.elf_machine);
  EXPECT_EQ(read.recorder, expected.recorder);
  EXPECT_EQ(read.word_bytes, expected.word_bytes);
  EXPECT_EQ(read.page_bytes, expected.page_bytes);
  EXPECT_EQ(read.big_endian, expected.big_endian);
  EXPECT_EQ(read.via, expected.via);
  EXPECT_EQ(read.start_unix_ns, expected.start_unix_ns);
  EXPECT_EQ(read.time_resolution_ns, expected.time_resolution_ns);
  EXPECT_EQ(read.from_start, expected.from_start);
  EXPECT_EQ(read.heaptap_version, expected.heaptap_version);
  EXPECT_EQ(read.ended, expected.ended);
  EXPECT_EQ(read.exit, expected.exit);
  EXPECT_EQ(read.duration_ns, expected.duration_ns);
  EXPECT_EQ(read.ticks_per_second, expected.ticks_per_second);
  EXPECT_EQ(read.event_count, expected.event_count);
  EXPECT_EQ(read.lost_events, expected.lost_events);
  EXPECT_EQ(read.notes, expected.notes);
  EXPECT_EQ(read.paused_by_tracer_ns, expected.paused_by_tracer_ns);
  EXPECT_EQ(read.collector_cpu_ns, expected.collector_cpu_ns);
  EXPECT_EQ(read.collector_peak_rss_bytes, expected.collector_peak_rss_bytes);
  EXPECT_EQ(read.log_bytes_used, expected.log_bytes_used);
}

}  // namespace heaptap::trace::test
