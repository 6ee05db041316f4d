#include "capture/tracer/call_exits.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace heaptap::tracer {
namespace {

constexpr size_t kMaxInstructions = 16384;
constexpr size_t kWindowBytes = 1024;

// Instructions in memory, read a window at a time.
class Code {
 public:
  Code(const arch::Cpu& cpu, const base::ByteSource& memory) : cpu_(cpu), memory_(memory) {}

  arch::Instruction at(uint64_t address) {
    constexpr size_t kMax = arch::Cpu::kMaxInstructionBytes;
    if (address < begin_ || address + kMax > begin_ + size_) load(address);
    if (address - begin_ >= size_) return {};
    const auto offset = static_cast<size_t>(address - begin_);
    return cpu_.decode(address, std::span(bytes_).subspan(offset, std::min(kMax, size_ - offset)));
  }

 private:
  void load(uint64_t address) {
    begin_ = address;
    size_ = memory_.read_some(begin_, bytes_.data(), kWindowBytes);  // the window may reach beyond what is mapped
  }

  const arch::Cpu& cpu_;
  const base::ByteSource& memory_;
  std::array<uint8_t, kWindowBytes> bytes_{};
  uint64_t begin_ = 0;
  size_t size_ = 0;
};

class Search {
 public:
  Search(const arch::Cpu& cpu, const base::ByteSource& memory, const FunctionCode& function,
         const std::function<bool(uint64_t)>& is_watched)
      : code_(cpu, memory),
        start_(function.start),
        end_(function.start + function.size_bytes),
        may_have_data_(function.may_have_data),
        stub_instructions_(cpu.linkage_stub().max_instructions),
        is_watched_(is_watched) {}

  CallExits run() {
    open_.push_back(start_);
    follow_all();
    if (has_indirect_jump_ && end_ > start_) {
      if (may_have_data_) {
        exits_.complete = false;
      } else {
        sweep();
      }
    }
    std::ranges::sort(exits_.returns);
    std::ranges::sort(exits_.tail_jumps);
    return std::move(exits_);
  }

 private:
  void follow_all() {
    while (!open_.empty()) {
      const uint64_t address = open_.back();
      open_.pop_back();
      follow(address);
    }
  }

  // Parts reached only by a jump table follow the jump.
  void sweep() {
    for (uint64_t address = start_; address < end_;) {
      const arch::Instruction instruction = code_.at(address);
      if (instruction.length_bytes == 0) break;
      open_.push_back(address);
      follow_all();
      address += instruction.length_bytes;
    }
  }

  void follow(uint64_t address) {
    while (seen_.insert(address).second) {
      const arch::Instruction instruction = code_.at(address);
      if (instruction.length_bytes == 0 || seen_.size() > kMaxInstructions) {
        exits_.complete = false;
        return;
      }
      const uint64_t next = address + instruction.length_bytes;
      switch (instruction.flow) {
        case arch::Flow::kNext:
        case arch::Flow::kCall:
          break;
        case arch::Flow::kReturn:
          exits_.returns.push_back(address);
          return;
        case arch::Flow::kJump:
          jump(address, instruction.target);
          return;
        case arch::Flow::kBranch:
          jump(address, instruction.target);
          break;
        case arch::Flow::kIndirectJump:
          has_indirect_jump_ = true;
          exits_.tail_jumps.push_back(address);
          return;
        case arch::Flow::kStop:
        case arch::Flow::kUnknown:
          return;
      }
      // Code after a call that doesn't return belongs to other functions.
      if ((is_inside(address) && !is_inside(next)) || is_watched_(next)) return;
      address = next;
    }
  }

  void jump(uint64_t from, uint64_t target) {
    const bool is_followed = is_inside(target) || (!is_watched_(target) && target != start_ && !leads_away(target) &&
                                                   seen_.size() <= kMaxInstructions / 2);
    if (is_followed) {
      open_.push_back(target);
    } else {
      exits_.tail_jumps.push_back(from);
    }
  }

  // A linkage stub: a few instructions at most, then a jump through a table.
  bool leads_away(uint64_t address) {
    arch::Instruction next = code_.at(address);
    for (unsigned i = stub_instructions_; i > 0 && next.flow == arch::Flow::kNext; --i) {
      address += next.length_bytes;
      next = code_.at(address);
    }
    return next.flow == arch::Flow::kIndirectJump;
  }

  [[nodiscard]] bool is_inside(uint64_t address) const { return address >= start_ && address < end_; }

  Code code_;
  uint64_t start_;
  uint64_t end_;
  bool may_have_data_;
  unsigned stub_instructions_;
  const std::function<bool(uint64_t)>& is_watched_;
  std::vector<uint64_t> open_;
  std::unordered_set<uint64_t> seen_;
  bool has_indirect_jump_ = false;
  CallExits exits_;
};

}  // namespace

CallExits find_call_exits(const arch::Cpu& cpu, const base::ByteSource& memory, const FunctionCode& function,
                          const std::function<bool(uint64_t)>& is_watched) {
  return Search(cpu, memory, function, is_watched).run();
}

}  // namespace heaptap::tracer
