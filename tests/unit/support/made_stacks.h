// Synthetic stacks, laid out in memory as compiled code would leave them, with the CFI rows of each call site: the expected result of a
// walk is known.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <vector>

#include "common/unwind/last_stack.h"

namespace heaptap::test {

inline constexpr uint64_t kStackBytes = 1u << 20;

// Memory of this process for a stack, at an address that fits 32 bits.
class MappedStack {
 public:
  MappedStack()
      : begin_(reinterpret_cast<uint64_t>(
            mmap(kLow, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | kIn32Bits, -1, 0))) {}
  ~MappedStack() { munmap(reinterpret_cast<void*>(begin_), kStackBytes); }
  MappedStack(const MappedStack&) = delete;
  MappedStack& operator=(const MappedStack&) = delete;

  [[nodiscard]] uint64_t begin() const { return begin_; }
  [[nodiscard]] uint64_t end() const { return begin_ + kStackBytes; }

 protected:
  template <typename Word>
  static void store(uint64_t address, Word word) {
    __builtin_memcpy(reinterpret_cast<void*>(address), &word, sizeof(word));
  }

 private:
#ifdef MAP_32BIT
  static constexpr int kIn32Bits = MAP_32BIT;
  static inline void* const kLow = nullptr;
#else  // a hint, which is free
  static constexpr int kIn32Bits = 0;
  static inline void* const kLow = reinterpret_cast<void*>(uintptr_t{1} << 28);
#endif
  uint64_t begin_;
};

// Frame layout of a function: how its caller's registers are saved.
enum class FrameShape : uint8_t {
  kPlain,      // saves no frame pointer
  kSaving,     // saves the frame pointer's register and uses it otherwise
  kFramed,     // has a frame pointer
  kRealigned,  // frame pointer and realigned stack; with a link register: a pair saved far below its CFA
  kNoTable,    // has a frame pointer, but no CFI
  kSignal,     // the innermost function was interrupted by a signal; a handler follows
};
inline constexpr unsigned kShapeCount = 6;

// Rules and names of a synthetic program: the `Code` of unwind::LastStack.
template <unwind::UnwoundCpu CpuType>
class MadeCode {
 public:
  using Cpu = CpuType;
  using Name = uint32_t;
  using Code = uint64_t;
  struct Rule {
    unwind::Row unwind_row;
    uint64_t key;
    [[nodiscard]] unwind::Row row() const { return unwind_row; }
    [[nodiscard]] uint64_t code() const { return key; }
  };
  struct Signal {
    uint64_t frame_pointer;
    uint64_t stack_pointer;
    uint64_t program_counter;
    uint64_t link_register;
  };
  static constexpr Signal kSignal{16, 24, 32, 40};

  void set_row(uint64_t key, unwind::Row row) { rows_[key] = row; }
  [[nodiscard]] unwind::Row row_of(uint64_t key) const { return rows_.at(key); }
  void set_depth_limit(uint32_t limit) { depth_limit_ = unwind::depth_limit_for(limit); }
  [[nodiscard]] uint64_t rules_asked_for() const { return rules_asked_for_; }

  static Cpu cpu() { return {}; }
  [[nodiscard]] unwind::DepthLimit depth_limit() const { return depth_limit_; }
  Rule rule_of(uint64_t key) {
    ++rules_asked_for_;
    const auto known = rows_.find(key);
    return {known != rows_.end() ? known->second : unwind::Row(unwind::RowKind::kNoTable), key};
  }
  static Signal signal_of(const Rule& /*rule*/) { return kSignal; }
  [[nodiscard]] bool is_code(uint64_t address) const { return rows_.contains(address); }
  [[nodiscard]] bool chains_stacks(uint64_t /*address*/) const { return chains_stacks_; }
  void set_chains_stacks(bool chains) { chains_stacks_ = chains; }

  static Name root(wire::StackEnd end) { return static_cast<Name>(end); }
  Name add(Name parent, uint64_t code) {
    const auto [known, is_new] =
        numbers_.try_emplace({parent, code}, static_cast<Name>(wire::kRootCount + numbers_.size()));
    if (is_new) nodes_.push_back({parent, code});
    return known->second;
  }
  [[nodiscard]] uint64_t code_of(Name name) const { return nodes_[name - wire::kRootCount].code; }
  template <typename Fresh>
  Name add_all(Name parent, Fresh* fresh, uint32_t count) {
    for (uint32_t i = count; i > 0; --i) fresh[i - 1].name = parent = add(parent, fresh[i - 1].code);
    return parent;
  }

  struct Stack {
    std::vector<uint64_t> codes;  // innermost first
    wire::StackEnd end;
  };
  [[nodiscard]] Stack stack(Name name) const {
    std::vector<uint64_t> codes;
    for (; name >= wire::kRootCount; name = nodes_[name - wire::kRootCount].parent) codes.push_back(code_of(name));
    return {codes, static_cast<wire::StackEnd>(name)};
  }

 private:
  struct Node {
    Name parent;
    uint64_t code;
  };
  std::map<uint64_t, unwind::Row> rows_;
  std::map<std::pair<Name, uint64_t>, Name> numbers_;
  std::vector<Node> nodes_;
  unwind::DepthLimit depth_limit_ = unwind::depth_limit_for(0);
  uint64_t rules_asked_for_ = 0;
  bool chains_stacks_ = false;
};

// Stack under construction. `Memory`: put(address, value) stores a word, begin() and end() are its bounds. `Code`: set_row(key, row) is
// called for each call site, row_of(key) returns it; kSignal has the offsets of the registers in a signal frame.
template <unwind::UnwoundCpu Cpu, typename Memory, typename Code = MadeCode<Cpu>>
class MadeStack {
 public:
  static constexpr uint64_t kWord = sizeof(typename Cpu::Word);
  static constexpr bool kLinked = unwind::kHasLinkRegister<Cpu>;

  MadeStack(Memory& memory, Code& code) : memory_(memory), code_(code) {
    Function first{.sp = memory.end() - 64 * kWord, .fp = 0, .key = kFirstKey};
    code.set_row(first.key, unwind::Row(unwind::RowKind::kEnd));
    functions_.push_back(first);
  }

  [[nodiscard]] size_t depth() const { return functions_.size(); }
  [[nodiscard]] bool has_room() const { return top().sp - memory_.begin() > 4096; }

  // Calls a function of this shape from the top one, with a frame of `words` words (at least 4).
  void call(FrameShape shape, uint64_t words, uint64_t call_site = 0) {
    const Function caller = top();
    const uint64_t key = kFirstKey + 0x100000 * (1 + static_cast<uint64_t>(shape)) + words * 256 + call_site * 16;
    if (shape == FrameShape::kSignal) return interrupt(caller, key);
    functions_.push_back(kLinked ? linked(caller, shape, words, key) : pushed(caller, shape, words, key));
  }
  void come_back() {
    if (functions_.size() > 1) functions_.pop_back();
  }
  // Moves the top function to another call site.
  void move_on(uint64_t call_site) {
    Function& function = functions_.back();
    if (function.is_handled || functions_.size() == 1) return;
    const auto row = code_.row_of(function.key);
    function.key = (function.key & ~uint64_t{0xf0}) + call_site * 16;
    code_.set_row(function.key, row);
  }

  // Start of a walk: a frame called by the top function.
  [[nodiscard]] unwind::FrameOf<Cpu> start() {
    unwind::FrameOf<Cpu> frame;
    frame.key = top().key;
    frame.sp = top().sp;
    frame.fp = top().fp;
    if (!kLinked) {
      frame.slot = top().sp - kWord;
      memory_.put(frame.slot, top().key);
    }
    return frame;
  }
  [[nodiscard]] std::vector<uint64_t> codes() const {
    std::vector<uint64_t> codes;
    for (size_t i = functions_.size(); i > 0; --i) {
      const Function& function = functions_[i - 1];
      codes.push_back(function.key);
      if (function.is_handled) codes.push_back(function.interrupted);
    }
    return codes;
  }

 private:
  static constexpr uint64_t kFirstKey = 0x400000;

  struct Function {
    uint64_t sp;
    uint64_t fp;
    uint64_t key;             // of the call that it has made or will make
    bool is_handled = false;  // it is the trampoline over what was interrupted there
    uint64_t interrupted = 0;
  };
  [[nodiscard]] const Function& top() const { return functions_.back(); }

  // In-memory form of a return address.
  static uint64_t signed_address(uint64_t key) {
    return Cpu::kSignsReturnAddresses ? key | (key * 0x9e37 << 48 & 0xff00000000000000) | uint64_t{0x5a} << 48 : key;
  }

  Function pushed(const Function& caller, FrameShape shape, uint64_t words, uint64_t key) {
    using unwind::Row;
    using unwind::RowKind;
    const uint64_t cfa = caller.sp;
    const uint64_t pair = cfa - 2 * kWord;
    const uint64_t sp = pair - words * kWord;
    memory_.put(cfa - kWord, caller.key);
    Function function{.sp = sp, .fp = pair, .key = key};
    memory_.put(pair, caller.fp);
    switch (shape) {
      case FrameShape::kPlain:
        function.fp = caller.fp;
        memory_.put(pair, 7);
        code_.set_row(key, Row(RowKind::kStackOffset, -1, 0, static_cast<int64_t>(words + 2)));
        break;
      case FrameShape::kSaving:
        function.fp = words;
        code_.set_row(key, Row(RowKind::kStackOffset, -1, -2, static_cast<int64_t>(words + 2)));
        break;
      case FrameShape::kFramed:
        code_.set_row(key, Row(RowKind::kFrameOffset, -1, -2, 2));
        break;
      case FrameShape::kRealigned: {
        // A copy of the return address and the frame pointer that was saved, wherever the alignment led.
        const uint64_t fp = (pair - 6 * kWord) & ~uint64_t{63};
        memory_.put(fp, caller.fp);
        memory_.put(fp - kWord, cfa);
        function.fp = fp;
        function.sp = fp - (words + 1) * kWord;
        code_.set_row(key, Row(RowKind::kFrameIndirect, -1, 0, -1));
        break;
      }
      default:
        code_.set_row(key, Row(RowKind::kNoTable));
        break;
    }
    return function;
  }

  Function linked(const Function& caller, FrameShape shape, uint64_t words, uint64_t key) {
    using unwind::Row;
    using unwind::RowKind;
    const uint64_t cfa = caller.sp;
    const uint64_t address = signed_address(caller.key);
    const auto w = static_cast<int64_t>(words);
    Function function{.sp = cfa - words * kWord, .fp = caller.fp, .key = key};
    const auto put_pair = [&](uint64_t at) {
      memory_.put(at, caller.fp);
      memory_.put(at + kWord, address);
      return at;
    };
    switch (shape) {
      case FrameShape::kPlain: {
        const bool is_far = words % 2 == 0;  // from the CFA
        memory_.put(is_far ? function.sp + kWord : cfa - 3 * kWord, address);
        code_.set_row(key, is_far ? Row(RowKind::kStackReturn, 1, 0, w) : Row(RowKind::kStackOffset, -3, 0, w));
        break;
      }
      case FrameShape::kSaving:
        put_pair(cfa - 2 * kWord);
        function.fp = words;
        code_.set_row(key, words % 2 == 0 ? Row(RowKind::kStackPair, 0, -2, w) : Row(RowKind::kStackOffset, -1, -2, w));
        break;
      case FrameShape::kFramed:
        function.fp = put_pair(cfa - 4 * kWord);
        code_.set_row(key, words % 2 == 0 ? Row(RowKind::kFramePair, 0, -4, 4) : Row(RowKind::kFrameOffset, -3, -4, 4));
        break;
      case FrameShape::kRealigned:
        function.fp = put_pair(function.sp);
        code_.set_row(key, words % 2 == 0 ? Row(RowKind::kStackRecord, 1, 0, w) : Row(RowKind::kFrameRecord, 1, 0, w));
        break;
      default:
        function.fp = put_pair(cfa - 2 * kWord);
        code_.set_row(key, Row(RowKind::kNoTable));
        break;
    }
    return function;
  }

  // Interrupts the top function, inside a leaf if there is a link register.
  void interrupt(const Function& caller, uint64_t key) {
    using unwind::Row;
    using unwind::RowKind;
    Function trampoline{.sp = 0, .fp = 0x99, .key = key, .is_handled = true};
    trampoline.interrupted = (key + 8) | wire::kCodeExact;
    uint64_t sp = caller.sp;
    if (kLinked) {
      sp -= 2 * kWord;
      code_.set_row(trampoline.interrupted, Row(RowKind::kStackLeaf, 0, 0, 2));
    } else {
      sp -= kWord;
      memory_.put(sp, caller.key);
      code_.set_row(trampoline.interrupted, Row(RowKind::kStackOffset, -1, 0, 1));
    }
    trampoline.sp = (sp - 128 * kWord) & ~uint64_t{15};
    memory_.put(trampoline.sp + Code::kSignal.frame_pointer, caller.fp);
    memory_.put(trampoline.sp + Code::kSignal.stack_pointer, sp);
    memory_.put(trampoline.sp + Code::kSignal.program_counter, wire::code_address(trampoline.interrupted));
    memory_.put(trampoline.sp + Code::kSignal.link_register, signed_address(caller.key));
    code_.set_row(key, Row(RowKind::kSignal));
    functions_.push_back(trampoline);
  }

  Memory& memory_;
  Code& code_;
  std::vector<Function> functions_;
};

}  // namespace heaptap::test
