// Event stream from a log in this machine's memory. Its input was written by another process and is not trusted.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "capture/log/log_clock.h"
#include "capture/log/log_parts.h"
#include "capture/log/log_reader.h"
#include "capture/stream/event_stream.h"
#include "capture/stream/own_allocator.h"
#include "capture/stream/past_hooks.h"
#include "capture/stream/totals_collector.h"

namespace heaptap::stream {

class MappedTables : public AgentTables {
 public:
  MappedTables(std::span<const wire::CodeEntry> codes, std::span<const wire::StackNode> nodes,
               std::span<const wire::LabelEntry> labels = {})
      : codes_(codes), nodes_(nodes), labels_(labels) {}

  [[nodiscard]] uint32_t node_count() const override { return static_cast<uint32_t>(nodes_.size()); }
  [[nodiscard]] uint64_t node(uint32_t number) const override { return nodes_[number].load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t code_count() const override { return static_cast<uint32_t>(codes_.size()); }
  [[nodiscard]] uint64_t code(uint32_t index) const override { return codes_[index].load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<model::Label> label(uint32_t number) const override;

 private:
  std::span<const wire::CodeEntry> codes_;
  std::span<const wire::StackNode> nodes_;
  std::span<const wire::LabelEntry> labels_;
};

// Process of the log, for the names of its threads and its modules.
struct LogOwner {
  pid_t process = 0;
  bool has_agent = false;
  std::string executable = {};  // its path in the process's view
  unsigned word_bytes = sizeof(uint64_t);
};

class MappedStream : public EventStream {
 public:
  // The log and its totals must outlive it.
  MappedStream(const log::LogParts& log, TotalsCollector& totals, LogOwner owner);

  uint64_t drain(log::RawEvents& events, bool last) override;
  [[nodiscard]] StreamState state() const override;
  [[nodiscard]] uint64_t max_bytes_left() const override;
  [[nodiscard]] const AgentTables& tables() const override { return tables_; }
  void take_modules(std::vector<model::Module>& modules) override;
  void take_threads(std::vector<model::Thread>& threads) override;
  std::string take_text(uint32_t number) override { return reader_.take_text(number); }

  // Reader of the log, with its losses and their causes.
  [[nodiscard]] log::LogReader& reader() { return reader_; }
  [[nodiscard]] const log::LogReader& reader() const { return reader_; }
  // Current time since the start of the capture.
  [[nodiscard]] uint64_t now_ns() const { return state().scale().to_ns(clock_.now()); }
  // The process is in a PID namespace of its own: it uses other thread numbers.
  [[nodiscard]] bool tells_other_numbers() const { return is_in_own_namespace_; }
  // Allocator in the program whose calls no agent sees.
  [[nodiscard]] OwnAllocator own_allocator() const { return own_allocator_; }
  [[nodiscard]] const PastHooks& past_hooks() const { return past_hooks_; }

 private:
  void update_clock();
  void look_at_program(const std::string& path);
  bool take_module(uint32_t end, std::vector<model::Module>& modules);
  void add_thread(uint32_t number, uint32_t kernel_id, bool ask_name, std::vector<model::Thread>& threads);

  const log::LogParts& log_;
  TotalsCollector& totals_;
  const LogOwner owner_;
  const std::string executed_path_;  // of its program
  const bool is_in_own_namespace_;
  MappedTables tables_;
  log::LogReader reader_;
  log::LogClock clock_;
  const uint64_t start_ns_;  // monotonic
  const uint64_t start_ticks_;
  uint64_t ticks_ = 0;
  uint64_t elapsed_ns_ = 0;
  PastHooks past_hooks_;
  bool knows_program_ = false;  // it was examined
  OwnAllocator own_allocator_ = OwnAllocator::kNone;
  uint32_t modules_read_ = 0;        // bytes
  std::vector<bool> threads_known_;  // by number
};

}  // namespace heaptap::stream
