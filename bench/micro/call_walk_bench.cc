// Stack walk of another process, from outside: reading its memory alone, and with the walk, for stacks that recur completely, except
// for their innermost frame, and not at all. A child is stopped with a stack of known depth.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "capture/log/log_memory.h"
#include "capture/tracer/call_walk.h"
#include "common/arch/native.h"

namespace {

using namespace heaptap;

extern "C" void* __libc_stack_end;  // where the C library begins; NOLINT

struct Held {
  tracer::CallWalk::Start start;
  uint64_t stack_end;
};

[[gnu::noinline]] int hold(int pipe_end, uint64_t stack_end) {
  const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
  const auto at = reinterpret_cast<uint64_t>(frame);
  const Held held{{getpid(), frame[1], at + sizeof(uint64_t), at + 2 * sizeof(uint64_t), frame[0]}, stack_end};
  if (write(pipe_end, &held, sizeof(held)) != sizeof(held)) _exit(1);
  while (getppid() != 1) pause();
  return 0;
}

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int descend(int depth, int pipe_end, uint64_t stack_end) {
  volatile int kept[4] = {depth};
  kept[1] = depth > 0 ? descend(depth - 1, pipe_end, stack_end) : hold(pipe_end, stack_end);
  return kept[0] + kept[1];
}

class HeldChild {
 public:
  explicit HeldChild(int depth) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(descend(depth, ends[1], reinterpret_cast<uint64_t>(__libc_stack_end)));
    }
    if (read(ends[0], &held_, sizeof(held_)) != sizeof(held_)) std::abort();
    close(ends[0]);
    close(ends[1]);
  }
  ~HeldChild() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  HeldChild(const HeldChild&) = delete;
  HeldChild& operator=(const HeldChild&) = delete;

  [[nodiscard]] pid_t id() const { return process_; }
  [[nodiscard]] const Held& held() const { return held_; }

 private:
  pid_t process_;
  Held held_{};
};

struct Walked {
  explicit Walked(int depth)
      : child(depth),
        cpu(*arch::cpu_of(arch::native::kArchitecture)),
        memory(child.id()),
        objects(child.id(), memory, cpu),
        log_memory(*log::LogMemory::create({})),
        log(tracer::LogWriter::create(
            static_cast<wire::LogHeader*>(
                mmap(nullptr, log_memory->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, log_memory->descriptor(), 0)),
            log_memory->bytes())),
        walk(cpu, memory, objects, *log, 0) {
    for (const uint32_t index : objects.refresh().came) {
      walk.object_came(index, log->add_module(objects.objects()[index]));
    }
  }

  HeldChild child;
  const arch::Cpu& cpu;
  process::TracedMemory memory;
  tracer::LoadedObjects objects;
  std::unique_ptr<log::LogMemory> log_memory;
  std::unique_ptr<tracer::LogWriter> log;
  tracer::CallWalk walk;
};

void remote_stack_read_alone(benchmark::State& state) {
  Walked walked(static_cast<int>(state.range(0)));
  const Held& held = walked.child.held();
  std::vector<uint8_t> bytes(held.stack_end - held.start.slot);
  for (auto _ : state) benchmark::DoNotOptimize(walked.memory.read_some(held.start.slot, bytes.data(), bytes.size()));
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(remote_stack_read_alone)->Arg(10)->Arg(40)->Arg(160);

void remote_stack_again(benchmark::State& state) {
  Walked walked(static_cast<int>(state.range(0)));
  const auto last = walked.walk.make_last_stack();
  for (auto _ : state) benchmark::DoNotOptimize(walked.walk.walk(walked.child.held().start, *last));
}
BENCHMARK(remote_stack_again)->Arg(10)->Arg(40)->Arg(160);

void remote_stack_but_for_its_leaf(benchmark::State& state) {
  Walked walked(static_cast<int>(state.range(0)));
  const auto last = walked.walk.make_last_stack();
  tracer::CallWalk::Start start = walked.child.held().start;
  for (auto _ : state) {
    start.return_address ^= 1;
    benchmark::DoNotOptimize(walked.walk.walk(start, *last));
  }
}
BENCHMARK(remote_stack_but_for_its_leaf)->Arg(10)->Arg(40)->Arg(160);

void remote_stack_anew(benchmark::State& state) {
  Walked walked(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const auto last = walked.walk.make_last_stack();
    benchmark::DoNotOptimize(walked.walk.walk(walked.child.held().start, *last));
  }
}
BENCHMARK(remote_stack_anew)->Arg(10)->Arg(40)->Arg(160);

}  // namespace
