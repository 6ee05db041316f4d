#include "record/trace/run_index.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>

namespace heaptap::trace {
namespace {

constexpr std::string_view kMagic = "heaptap-run ";
constexpr std::string_view kFirstLine = "heaptap-run 1\n";
constexpr size_t kMaxBytes = size_t{64} << 20;

std::string encode_name(std::string_view name) {
  std::string text;
  for (const char character : name) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte > ' ' && byte < 0x7f && byte != '%')
      text += character;
    else
      text += fmt::format("%{:02X}", byte);
  }
  return text;
}

template <typename Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// None: a % without two digits, or a byte that no file name has.
std::optional<std::string> decode_name(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    const auto byte = i + 2 < text.size() ? number_of<uint8_t>(text.substr(i + 1, 2), 16) : std::nullopt;
    if (!byte || *byte == 0) return std::nullopt;
    name += static_cast<char>(*byte);
    i += 2;
  }
  return name;
}

// Removes and returns the text up to the next separator, or all of it.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::optional<RunEntry> decode_line(std::string_view line) {
  const auto pid = number_of<uint32_t>(take(line, ' '));
  const auto parent = number_of<uint32_t>(take(line, ' '));
  const auto trace = decode_name(take(line, ' '));
  const auto program = decode_name(take(line, ' '));
  const std::string_view image_word = take(line, ' ');
  const auto image = image_word.empty() ? std::optional<uint32_t>(0) : number_of<uint32_t>(image_word);
  if (!pid || !parent || !trace || trace->empty() || !program || !image) return std::nullopt;
  if (!image_word.empty() && *image == 0) return std::nullopt;
  return RunEntry{*pid, *parent, *trace, *program, *image};
}

// Numbers the images of entries that the index doesn't number.
void number_images(std::vector<RunEntry>& entries) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].image != 0) continue;
    const auto later = std::span(entries).subspan(i + 1);
    entries[i].image = 1 + static_cast<uint32_t>(std::ranges::count(later, entries[i].pid, &RunEntry::pid));
  }
}

// The index's directory, with links resolved; as `path` has it if that is the same.
std::filesystem::path directory_of(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path named = path.parent_path();
  if (!fs::is_symlink(path, ignored)) return named;
  fs::path real = fs::weakly_canonical(path, ignored).parent_path();
  return fs::equivalent(real, named.empty() ? "." : named, ignored) ? named : real;
}

}  // namespace

std::string encode_run_index(const std::vector<RunEntry>& entries) {
  std::string text(kFirstLine);
  for (const RunEntry& entry : entries) {
    text += fmt::format("{} {} {} {} {}\n", entry.pid, entry.parent_pid, encode_name(entry.trace),
                        encode_name(entry.program), entry.image);
  }
  return text;
}

base::Result<std::vector<RunEntry>> decode_run_index(std::string_view text) {
  if (!text.starts_with(kMagic)) return base::fail("not an index of a recording");
  if (!text.starts_with(kFirstLine)) return base::fail("written by a newer heaptap");
  take(text, '\n');
  std::vector<RunEntry> entries;
  for (size_t number = 2; !text.empty(); ++number) {
    auto entry = text.find('\n') == std::string_view::npos ? std::nullopt : decode_line(take(text, '\n'));
    if (!entry) return base::fail("line {} is damaged", number);
    entries.push_back(*std::move(entry));
  }
  if (entries.empty()) return base::fail("it lists no trace");
  number_images(entries);
  return entries;
}

const RunEntry* last_program_of(const std::vector<RunEntry>& entries, uint32_t pid) {
  const RunEntry* last = nullptr;
  for (const RunEntry& entry : entries) {
    if (entry.pid == pid && (last == nullptr || entry.image > last->image)) last = &entry;
  }
  return last;
}

bool is_one_process(const std::vector<RunEntry>& entries) {
  return std::ranges::all_of(entries, [&](const RunEntry& entry) { return entry.pid == entries.front().pid; });
}

bool is_run_index(const std::string& path) {
  // Opening a FIFO, for instance, would block.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string head(kMagic.size(), '\0');
  return file.read(head.data(), static_cast<std::streamsize>(head.size())) && head == kMagic;
}

base::Result<std::vector<RunEntry>> read_run_index(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) return base::fail("can't read '{}': {}", path, error.message());
  if (size > kMaxBytes) return base::fail("can't read '{}': too large for the index of a recording", path);
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) return base::fail("can't read '{}'", path);
  auto entries = decode_run_index(text);
  if (!entries) return base::fail("can't read '{}': {}", path, entries.error().message);
  const fs::path directory = directory_of(path);
  for (RunEntry& entry : *entries) entry.trace = (directory / entry.trace).string();
  return entries;
}

}  // namespace heaptap::trace
