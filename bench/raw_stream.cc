// raw_stream AGENT plain|packed PROGRAM [ARG…]: records a program as a raw stream that is discarded, and prints bytes and cost per event,
// as JSON on stdout. AGENT: the agent's library. The program's own output goes to stderr.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/launch/launch.h"
#include "capture/log/exit_responder.h"
#include "capture/log/log_memory.h"
#include "capture/stream/frame_packing.h"
#include "capture/stream/mapped_stream.h"
#include "capture/stream/raw_stream.h"
#include "capture/supervision/agent_server.h"
#include "common/base/clock.h"

namespace {

using namespace heaptap;

// Writer of a stream that measures size and cost.
class Sender {
 public:
  Sender(const stream::AgentTables& tables, stream::FramePacker* packer)
      : writer_(tables), bytes_(stream::kRawStreamHeadBytes) {
    writer_.pack_with(packer);
  }

  void add(const std::vector<model::Module>& modules, const std::vector<model::Thread>& threads,
           std::span<const wire::RawEvent> events, uint64_t record_bytes, const stream::StreamState& state,
           const stream::RawStreamWriter::TakeText& take_text) {
    const uint64_t start = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    writer_.add_modules(modules);
    writer_.add_threads(threads);
    writer_.add_drain(events, record_bytes, state, take_text);
    const std::vector<uint8_t> written = writer_.take();
    ns_ += base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    std::span<const uint8_t> frames(written);
    if (std::exchange(is_first_, false)) frames = frames.subspan(stream::kRawStreamHeadBytes);
    while (!frames.empty()) {
      wire::FrameHead head;
      wire::read_frame_head(frames.data(), head);
      const size_t bytes = wire::kFrameHeadBytes + head.stored_bytes;
      (head.type == wire::FrameType::kRawEvents ? bytes_ : table_bytes_) += bytes;
      frames = frames.subspan(bytes);
    }
  }

  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] uint64_t table_bytes() const { return table_bytes_; }
  [[nodiscard]] uint64_t ns() const { return ns_; }

 private:
  stream::RawStreamWriter writer_;
  bool is_first_ = true;
  uint64_t bytes_;
  uint64_t table_bytes_ = 0;
  uint64_t ns_ = 0;
};

class Recorder {
 public:
  Recorder(supervision::AgentServer& server, log::LogMemory& log, bool packs)
      : server_(server), log_(log), sender_(stream_.tables(), packs ? &packer_ : nullptr) {}

  void follow(pid_t process) {
    bool is_over = false;
    for (bool goes_on = true; goes_on;) {
      give_log();
      const bool was_over = is_over;
      const uint64_t bytes = drain(was_over);
      if (log::take_exit_notice(log_.header())) log::finish_exit(log_.header());
      goes_on = !was_over || bytes > 0 || !stream_.state().is_empty;
      is_over = is_over || waitpid(process, nullptr, WNOHANG) == process;
      // As the collector does it, that is paced by its clock.
      if (bytes < kMuch && !is_over) poll(nullptr, 0, kPauseMs);
    }
  }

  void print() const {
    const auto each = [this](uint64_t value) { return static_cast<double>(value) / static_cast<double>(events_); };
    if (events_ == 0) return;
    fmt::print(
        "{{\"events\": {}, \"drains\": {}, \"drain_ns\": {:.1f}, \"events_bytes\": {:.3f}, "
        "\"tables_bytes\": {:.3f}, \"ns\": {:.1f}}}\n",
        events_, drains_, each(drain_ns_), each(sender_.bytes()), each(sender_.table_bytes()), each(sender_.ns()));
  }

 private:
  static constexpr uint64_t kMuch = 65536;
  static constexpr int kPauseMs = 1;

  // Of the first program; others aren't recorded.
  void give_log() {
    while (auto request = server_.accept()) {
      server_.answer(std::move(request->connection), std::exchange(is_given_, true) ? nullptr : &log_);
    }
  }

  uint64_t drain(bool last) {
    log::RawEvents events;
    std::vector<model::Module> modules;
    std::vector<model::Thread> threads;
    const uint64_t start = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t bytes = stream_.drain(events, last);
    drain_ns_ += base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    stream_.take_modules(modules);
    stream_.take_threads(threads);
    if (events.empty() && modules.empty() && threads.empty()) return bytes;
    sender_.add(modules, threads, events, bytes, stream_.state(),
                [this](uint32_t number) { return stream_.take_text(number); });
    events_ += events.size();
    ++drains_;
    return bytes;
  }

  supervision::AgentServer& server_;
  log::LogMemory& log_;
  bool is_given_ = false;
  stream::TotalsCollector no_totals_{log_.parts()};
  stream::MappedStream stream_{log_.parts(), no_totals_, {}};
  stream::DeflatePacker packer_;
  Sender sender_;
  uint64_t events_ = 0;
  uint64_t drains_ = 0;
  uint64_t drain_ns_ = 0;
};

base::Result<> record(const char* agent, bool packs, std::span<char*> arguments) {
  auto server = supervision::AgentServer::create();
  if (!server) return std::unexpected(std::move(server).error());
  log::LogOptions log_options;
  log_options.max_chunk_memory_bytes = uint64_t{1} << 30;
  auto log = log::LogMemory::create(log_options);
  if (!log) return std::unexpected(std::move(log).error());
  const int output = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  launch::LaunchOptions options;
  options.program = arguments[0];
  options.arguments = {arguments.begin(), arguments.end()};
  options.agent_path = agent;
  options.session = server->session();
  auto launched = launch::launch(options);
  dup2(output, STDOUT_FILENO);
  if (!launched) return std::unexpected(std::move(launched).error());
  Recorder recorder(*server, **log, packs);
  recorder.follow(launched->process);
  recorder.print();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc > 3 ? argv[2] : "";
  if (way != "plain" && way != "packed") {
    fmt::print(stderr, "usage: {} AGENT plain|packed PROGRAM [ARG...]\n", argv[0]);
    return 2;
  }
  const auto recorded = record(argv[1], way == "packed", std::span(argv + 3, argv + argc));
  if (!recorded) fmt::print(stderr, "raw_stream: {}\n", recorded.error().message);
  return recorded ? 0 : 1;
}
