// Replays a trace and checks that its order of events is possible: a block is released at most once and only while it is
// alive, and no address is handed out that is alive. order_check TRACE ALLOCATIONS RELEASES BYTES: the numbers are what the
// program counted of the calls that its own executable made. Prints what is wrong; exits with 1 if anything is.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/findings/note_text.h"
#include "record/trace/trace_reader.h"

namespace {

using namespace heaptap;

class OrderChecker : public trace::EventSink {
 public:
  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override {
    if (batch.first_block != blocks_.size()) complain(fmt::format("a batch begins with block {}", batch.first_block));
    for (const model::Event& event : batch.events) {
      ++events_;
      const model::Site& site = tables.sites[event.site];
      const bool own = is_programs_own(event.site, tables);
      switch (site.kind) {
        case model::EventKind::kAllocate:
          allocate(event, own);
          break;
        case model::EventKind::kRelease:
          release(event, own);
          break;
        case model::EventKind::kUndo:
          undo(event, own);
          break;
        default:
          break;
      }
    }
    for (const model::BadRelease& bad : batch.bad_releases) {
      complain(fmt::format("bad release of kind {} at {:x}", static_cast<int>(bad.kind), bad.address));
    }
  }

  void expect(const char* what, uint64_t got, uint64_t expected) {
    if (got != expected) complain(fmt::format("{}: {}, expected {}", what, got, expected));
  }
  void complain(const std::string& what) {
    constexpr uint64_t kMaxShown = 20;
    if (complaints_++ < kMaxShown) std::printf("event %" PRIu64 ": %s\n", events_, what.c_str());
  }

  [[nodiscard]] uint64_t events() const { return events_; }
  [[nodiscard]] uint64_t complaints() const { return complaints_; }
  uint64_t allocations = 0;
  uint64_t releases = 0;
  uint64_t bytes = 0;
  uint64_t addresses_checked = 0;

 private:
  struct Block {
    bool alive;
    bool own;
    uint64_t address;  // 0: not known
  };
  struct LastRelease {
    uint64_t block = 0;
    bool own = false;
  };

  // Whether the executable's own code made the call, not a library's.
  bool is_programs_own(model::SiteId id, const model::Tables& tables) {
    while (own_sites_.size() <= id) {
      const model::StackId stack = tables.sites[own_sites_.size()].stack;
      const bool has_frames = stack >= wire::kRootCount;
      const model::Module* module = has_frames ? tables.module_of(tables.codes[tables.stacks[stack].code]) : nullptr;
      own_sites_.push_back(module != nullptr && (module->flags & wire::kModuleIsMain) != 0);
    }
    return own_sites_[id];
  }

  void allocate(const model::Event& event, bool own) {
    const uint64_t number = blocks_.size();
    blocks_.push_back({true, own, event.address});
    allocations += own ? 1 : 0;
    bytes += own ? event.size_or_block : 0;
    if (event.address == 0) return;
    ++addresses_checked;
    const auto [entry, is_new] = live_.try_emplace(event.address, number);
    if (!is_new) {
      complain(
          fmt::format("block {} is handed out at {:x}, where block {} is alive", number, event.address, entry->second));
      entry->second = number;
    }
  }

  void release(const model::Event& event, bool own) {
    releases += own ? 1 : 0;
    last_[event.thread] = {event.size_or_block, own};
    if (event.size_or_block == 0 || event.size_or_block >= blocks_.size()) {
      complain(fmt::format("a release of block {}, which is not there", event.size_or_block));
      return;
    }
    Block& block = blocks_[event.size_or_block];
    if (!block.alive) complain(fmt::format("block {} is released while it is dead", event.size_or_block));
    block.alive = false;
    if (block.address != 0) live_.erase(block.address);
  }

  void undo(const model::Event& event, bool own) {
    const LastRelease last = last_[event.thread];
    last_[event.thread] = {};
    if (last.block == 0 || last.block >= blocks_.size() || last.own != own) {
      complain("an undo without a release");
      return;
    }
    releases -= own ? 1 : 0;
    Block& block = blocks_[last.block];
    block.alive = true;
    if (block.address != 0 && !live_.try_emplace(block.address, last.block).second) {
      complain(fmt::format("the failed realloc's block {} was handed out meanwhile", last.block));
    }
  }

  std::vector<Block> blocks_ = std::vector<Block>(1);  // by number, which begin at 1
  std::unordered_map<uint64_t, uint64_t> live_;        // blocks by address, where that is known
  std::unordered_map<model::ThreadId, LastRelease> last_;
  std::vector<bool> own_sites_;
  uint64_t events_ = 0;
  uint64_t complaints_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: order_check TRACE ALLOCATIONS RELEASES BYTES\n", stderr);
    return 2;
  }
  auto reader = trace::TraceReader::open(argv[1]);
  OrderChecker checker;
  trace::ReplayOptions options;
  options.addresses = true;
  if (reader) {
    if (const auto replayed = reader->replay(checker, options); !replayed) reader = std::unexpected(replayed.error());
  }
  if (!reader) {
    std::fprintf(stderr, "order_check: %s\n", reader.error().message.c_str());
    return 1;
  }
  const model::Capture& capture = reader->capture();
  const auto number = [&](int index) { return std::strtoull(argv[index], nullptr, 10); };
  checker.expect("allocations", checker.allocations, number(2));
  checker.expect("releases", checker.releases, number(3));
  checker.expect("bytes", checker.bytes, number(4));
  checker.expect("lost events", capture.lost_events, 0);
  checker.expect("events as the trace counts them", capture.event_count, checker.events());
  if (capture.truncated) checker.complain("the trace is cut off: " + capture.damage);
  for (const std::string& note : findings::sentences_of(capture.notes)) {
    if (!note.starts_with("events are ordered by a counter")) checker.complain("the trace says: " + note);
  }
  std::printf("%" PRIu64 " events, %" PRIu64 " addresses of blocks that outlived their frame, %" PRIu64 " faults\n",
              checker.events(), checker.addresses_checked, checker.complaints());
  return checker.complaints() == 0 ? 0 : 1;
}
