#include "capture/supervision/program_suppressions.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "common/base/served_files.h"

namespace heaptap::supervision {
namespace {

constexpr size_t kMaxTextBytes = 64 << 10;

// Where it lies in the file; none: nowhere.
std::optional<uint64_t> offset_of(const elf::ElfHeaders& elf, uint64_t address) {
  for (const elf::ElfSegment& segment : elf.segments()) {
    const bool holds = segment.type == PT_LOAD && address - segment.address < segment.file_bytes;
    if (holds && address >= segment.address) return segment.offset + (address - segment.address);
  }
  return std::nullopt;
}

class Instructions {
 public:
  explicit Instructions(std::span<const uint8_t> bytes) : rest_(bytes) {}

  // Whether they begin with this prefix; removes it.
  bool take(std::initializer_list<uint8_t> bytes) {
    if (rest_.size() < bytes.size() || !std::equal(bytes.begin(), bytes.end(), rest_.begin())) return false;
    rest_ = rest_.subspan(bytes.size());
    return true;
  }
  std::optional<int32_t> take_number() {
    int32_t number = 0;
    if (rest_.size() < sizeof number) return std::nullopt;
    std::memcpy(&number, rest_.data(), sizeof number);
    rest_ = rest_.subspan(sizeof number);
    return number;
  }
  [[nodiscard]] size_t left() const { return rest_.size(); }

 private:
  std::span<const uint8_t> rest_;
};

// The address returned by the function at `address`, if it does nothing else.
std::optional<uint64_t> returned_address(std::span<const uint8_t> code, uint64_t address) {
  Instructions at(code);
  (void)at.take({0xf3, 0x0f, 0x1e, 0xfa});                 // endbr64
  if (at.take({0x55})) (void)at.take({0x48, 0x89, 0xe5});  // push rbp; mov rbp, rsp
  std::optional<uint64_t> result;
  if (at.take({0x48, 0x8d, 0x05})) {  // lea rax, [rip + number]
    if (const auto number = at.take_number())
      result = address + (code.size() - at.left()) + static_cast<uint64_t>(int64_t{*number});
  } else if (at.take({0xb8})) {  // mov eax, number
    if (const auto number = at.take_number()) result = static_cast<uint32_t>(*number);
  } else if (at.take({0x48, 0xc7, 0xc0})) {  // mov rax, number
    if (const auto number = at.take_number()) result = static_cast<uint64_t>(int64_t{*number});
  }
  if (!at.take({0xc9})) (void)at.take({0x5d});  // leave; pop rbp
  return at.take({0xc3}) ? result : std::nullopt;
}

std::string only_leaks(std::string_view text) {
  constexpr std::string_view kLeak = "leak:";
  std::string kept;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    const bool names_something = line.find_first_not_of(" \t\r", kLeak.size()) != line.npos;
    if (line.starts_with(kLeak) && names_something) kept += std::string(line) + "\n";
  }
  return kept;
}

std::optional<uint64_t> find_function(const elf::FileBytes& bytes, const elf::ElfHeaders& elf) {
  constexpr std::array<std::string_view, 1> kNames{"__lsan_default_suppressions"};
  const std::vector<elf::ElfSection> sections = elf.read_sections(bytes);
  std::optional<uint64_t> function;
  for (const uint32_t kind : {SHT_DYNSYM, SHT_SYMTAB}) {
    elf::search_symbols(bytes, elf.form(), elf::table_in_file(elf.form(), sections, kind), kNames,
                        [&](size_t, const elf::ElfSymbol& symbol, uint64_t) {
                          if (symbol.section != SHN_UNDEF && symbol.type == STT_FUNC) function = symbol.value;
                        });
  }
  return function;
}

std::optional<model::SuppressionText> find_suppressions(pid_t thread, const std::string& executable) {
  const base::UniqueFd file = elf::open_as_seen_by(thread, executable);
  if (!file) return std::nullopt;
  const elf::FileBytes bytes(file.get());
  const auto elf = elf::ElfHeaders::read(bytes);
  if (!elf || elf->machine() != EM_X86_64) return std::nullopt;
  const auto function = find_function(bytes, *elf);
  const auto code_at = function ? offset_of(*elf, *function) : std::nullopt;
  if (!code_at) return std::nullopt;
  std::array<uint8_t, 32> code{};
  const size_t got = bytes.read_some(*code_at, code.data(), code.size());
  const auto address = returned_address(std::span(code).first(got), *function);
  const auto text_at = address ? offset_of(*elf, *address) : std::nullopt;
  if (!text_at) return std::nullopt;
  std::string text = only_leaks(elf::read_text(bytes, *text_at, kMaxTextBytes));
  if (text.empty()) return std::nullopt;
  return model::SuppressionText{.file = "__lsan_default_suppressions of " + executable, .text = std::move(text)};
}

}  // namespace

std::optional<model::SuppressionText> program_suppressions(pid_t thread, const std::string& executable) {
  using Found = std::optional<model::SuppressionText>;
  const auto look = [thread, executable] { return find_suppressions(thread, executable); };
  const base::FilePlace place{.viewer = thread, .path = executable};
  return base::ServedFiles::of_process().look<Found>(place, look).value_or(std::nullopt);
}

}  // namespace heaptap::supervision
