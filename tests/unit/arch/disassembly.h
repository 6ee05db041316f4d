// Disassembly of a file's code by objdump, the second opinion on a decoder.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/arch/cpu.h"

namespace heaptap::tests {

struct DisassembledLine {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
  std::string_view mnemonic;  // without prefixes
  std::string_view operands;
  std::string_view text;
};

class Disassembly {
 public:
  explicit Disassembly(const std::string& file)
      : pipe_(popen(("objdump -d -z -w --insn-width=16 '" + file + "' 2>/dev/null").c_str(), "r"), &pclose) {}

  // The next instruction that objdump understands; of another it says "(bad)".
  bool next(DisassembledLine& line) {
    char* text = nullptr;
    while (pipe_ != nullptr && getline(&buffer_, &capacity_, pipe_.get()) > 0) {
      text = buffer_;
      if (parse(text, line)) return true;
    }
    return false;
  }
  ~Disassembly() { free(buffer_); }
  Disassembly(const Disassembly&) = delete;
  Disassembly& operator=(const Disassembly&) = delete;

 private:
  // "  26da3:\t48 89 57 08   \tmov    %rdx,0x8(%rdi)"
  static bool parse(std::string_view text, DisassembledLine& line) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    const size_t colon = text.find(":\t");
    const size_t tab = colon == std::string_view::npos ? colon : text.find('\t', colon + 2);
    if (tab == std::string_view::npos) return false;
    line.address = number(text.substr(text.find_first_not_of(' '), colon));
    line.bytes.clear();
    const std::string_view bytes = text.substr(colon + 2, tab - colon - 2);
    for (size_t at = 0; at + 1 < bytes.size() && bytes[at] != ' '; at += 3) {
      line.bytes.push_back(static_cast<uint8_t>(number(bytes.substr(at, 2))));
    }
    line.text = text.substr(tab + 1);
    if (line.text.find("(bad)") != std::string_view::npos) return false;
    line.operands = line.text;
    do {
      line.mnemonic = take_word(line.operands);
    } while (is_prefix(line.mnemonic) && !line.operands.empty());
    return !line.mnemonic.empty() && line.mnemonic.front() != '.';
  }

  static uint64_t number(std::string_view digits) {
    uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
  }

  static std::string_view take_word(std::string_view& text) {
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    return word;
  }

  static bool is_prefix(std::string_view word) {
    static const std::set<std::string_view> kPrefixes = {
        "bnd", "notrack", "rep", "repz", "repnz", "lock", "data16",   "data32",   "addr16", "addr32",
        "cs",  "ds",      "es",  "ss",   "fs",    "gs",   "xacquire", "xrelease", "{vex}",  "{evex}"};
    const size_t hint = word.find(',');  // "jne,pt"
    return kPrefixes.contains(word.substr(0, hint)) || word.starts_with("rex");
  }

  std::unique_ptr<FILE, int (*)(FILE*)> pipe_;
  char* buffer_ = nullptr;
  size_t capacity_ = 0;
};

// What the mnemonic says of the flow.
inline arch::Flow flow_of(const DisassembledLine& line) {
  using arch::Flow;
  const std::string_view mnemonic = line.mnemonic.substr(0, line.mnemonic.find(','));
  const bool is_indirect = line.operands.starts_with('*');
  if (mnemonic.starts_with("ret") || mnemonic.starts_with("lret") || mnemonic.starts_with("iret")) return Flow::kReturn;
  if (mnemonic.starts_with("sysret") || mnemonic.starts_with("sysexit")) return Flow::kReturn;
  if (mnemonic.starts_with("call") || mnemonic.starts_with("lcall")) return Flow::kCall;
  if (mnemonic.starts_with("ljmp")) return Flow::kIndirectJump;
  if (mnemonic.starts_with("jmp")) return is_indirect ? Flow::kIndirectJump : Flow::kJump;
  if (mnemonic.starts_with('j') || mnemonic.starts_with("loop") || mnemonic == "xbegin") return Flow::kBranch;
  if (mnemonic == "hlt" || mnemonic.starts_with("ud")) return Flow::kStop;
  return Flow::kNext;
}

}  // namespace heaptap::tests
