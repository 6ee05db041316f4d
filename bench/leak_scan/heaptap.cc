// Leak scan of heap.h's heap in a child process, from outside as heaptap does it: CPU time of each step, as JSON on stdout.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "analysis/leaks/classify.h"
#include "analysis/leaks/dominators.h"
#include "analysis/leaks/holders.h"
#include "capture/scan/heap_scanner.h"
#include "cpu_clock.h"
#include "heap.h"

namespace {

using namespace heaptap;

class ChildMemory final : public process::ProgramMemory {
 public:
  explicit ChildMemory(pid_t child) : ProgramMemory({}, sizeof(uint64_t)), child_(child) {}

  size_t read_some(uint64_t address, void* to, size_t bytes) const override {
    const iovec here{to, bytes};
    const iovec there{reinterpret_cast<void*>(address), bytes};
    const ssize_t got = process_vm_readv(child_, &here, 1, &there, 1, 0);
    return got < 0 ? 0 : static_cast<size_t>(got);
  }

  std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end) override { return {{begin, end}}; }
  [[nodiscard]] uint64_t skip_untouched(uint64_t begin, uint64_t /*end*/) const override { return begin; }

 private:
  pid_t child_;
};

// Shared memory between child and parent.
struct Shared {
  uint64_t ready;
  bench::BlockNote notes[1];
};

pid_t start_child(Shared* shared, uint64_t blocks, uint64_t average, const int ready[2]) {
  const pid_t child = fork();
  if (child != 0) return child;
  uint64_t at = 0;
  bench::build_heap(blocks, average, [&](const bench::BlockNote& note) { shared->notes[at++] = note; });
  if (write(ready[1], "r", 1) == 1) pause();
  std::_Exit(0);
}

scan::ScanInput make_input(const Shared* shared, uint64_t blocks) {
  scan::ScanInput input;
  for (uint64_t i = 0; i < blocks; ++i) {
    const bench::BlockNote& note = shared->notes[i];
    input.blocks.push_back(
        {.address = note.address, .size_bytes = note.size_bytes, .number = i + 1, .site = 0, .type = 0});
  }
  const auto trees = reinterpret_cast<uint64_t>(&bench::trees);
  input.root_ranges.push_back({trees, trees + sizeof bench::trees, wire::RootKind::kGlobal, 0});
  return input;
}

void measure(const Shared* shared, uint64_t blocks, pid_t child) {
  ChildMemory memory(child);
  scan::ScanInput input = make_input(shared, blocks);
  double start = bench::cpu_seconds();
  scan::HeapScanner scanner(std::move(input));
  const double index = bench::cpu_since(start);
  scanner.collect(memory);
  const double collect = bench::cpu_since(start);
  const model::HeapScan scan = scanner.resolve();
  const double resolve = bench::cpu_since(start);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  start = bench::cpu_seconds();
  const leaks::Classification result = leaks::classify(scan);
  const double classify = bench::cpu_since(start);
  const leaks::Dominators dominators = leaks::find_dominators(scan);
  const double dominate = bench::cpu_since(start);
  const leaks::Holders holders(scan);
  const double hold = bench::cpu_since(start);
  uint64_t retained = 0;
  for (const uint64_t bytes : dominators.retained_bytes) retained = std::max(retained, bytes);
  fmt::print(
      "{{\"blocks\": {}, \"bytes\": {}, \"pointers\": {}, \"lost\": {}, \"index_s\": {:.4f}, \"collect_s\": {:.4f}, "
      "\"resolve_s\": {:.4f}, \"classify_s\": {:.4f}, \"dominators_s\": {:.4f}, \"holders_s\": {:.4f}, "
      "\"scanner_peak_bytes\": {}}}\n",
      blocks, scan.read_bytes, scan.pointers.size(), result.total(leaks::BlockState::kDefinite).blocks, index, collect,
      resolve, classify, dominate, hold, static_cast<uint64_t>(usage.ru_maxrss) * 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t blocks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t average = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 800;
  void* memory = mmap(nullptr, sizeof(Shared) + blocks * sizeof(bench::BlockNote), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ready[2];
  if (memory == MAP_FAILED || pipe(ready) != 0) return 1;
  auto* shared = static_cast<Shared*>(memory);
  const pid_t child = start_child(shared, blocks, average, ready);
  close(ready[1]);
  char byte = 0;
  const bool built = child > 0 && read(ready[0], &byte, 1) == 1;
  if (built) measure(shared, blocks, child);
  if (child > 0) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return built ? 0 : 1;
}
