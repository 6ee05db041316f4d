#include "collect/jit_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/small_file.h"
#include "elf/object_file.h"
#include "process/process_status.h"

namespace heaptap::collect {
namespace {

constexpr size_t kMaxOpenCodes = size_t{1} << 18;
constexpr size_t kMaxDumps = 4;
constexpr uint64_t kMaxMapBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxDumpBytes = uint64_t{2} << 30;
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMaxRecordBytes = size_t{16} << 20;

// The last part of the path is no link; links on the way mean what they mean to the process.
base::UniqueFd open_in_root(const base::UniqueFd& root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  how.resolve = RESOLVE_IN_ROOT;
  return base::UniqueFd(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

// "…/jit-123.dump"
bool is_name_of_dump(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return path.starts_with('/') && name.starts_with("jit-") && name.ends_with(".dump");
}

}  // namespace

JitNames::JitNames(pid_t process) : process_(process) {
  const pid_t thread = process::find_live_thread(process);
  if (thread == 0) return;
  root_ = base::UniqueFd(open(fmt::format("/proc/{}/root", thread).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  owners_ = {0};
  pid_t own_number = process;
  const std::string status = base::read_small_file(fmt::format("/proc/{}/status", thread), 4096);
  for (const std::string& line : base::split(status, '\n')) {
    const std::vector<std::string> words = base::split(line, '\t');
    const auto number = [&words](size_t index) {
      uint32_t value = 0;
      if (index < words.size()) {
        (void)std::from_chars(words[index].data(), words[index].data() + words[index].size(), value);
      }
      return value;
    };
    if (line.starts_with("Uid:")) owners_.insert(owners_.end(), {number(1), number(2)});
    // Of the thread, which is the first one almost always; the process's last number is what it knows itself by.
    if (line.starts_with("NStgid:") && words.size() > 1) own_number = static_cast<pid_t>(number(words.size() - 1));
  }
  map_path_ = fmt::format("tmp/perf-{}.map", own_number);
}

bool JitNames::may_be_read(const base::UniqueFd& file) const {
  struct stat status{};
  return file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         std::ranges::find(owners_, status.st_uid) != owners_.end();
}

// It may be written at the end alone, or anew.
void JitNames::look_for_map() {
  if (!root_) return;
  base::UniqueFd file = open_in_root(root_, map_path_);
  struct stat status{};
  if (!may_be_read(file) || fstat(file.get(), &status) != 0) return;
  const bool is_known = !sources_.empty() && !sources_.front().is_dump;
  if (is_known) {
    const Source& known = sources_.front();
    if (known.inode == status.st_ino && static_cast<uint64_t>(status.st_size) >= known.taken_bytes) return;
    sources_.erase(sources_.begin());
  }
  sources_.insert(sources_.begin(), Source{.file = std::move(file), .is_dump = false, .inode = status.st_ino});
}

// Who writes one maps it, so that it is found.
void JitNames::look_for_dumps() {
  const pid_t thread = process::find_live_thread(process_);
  if (thread == 0) return;
  for (const process::Mapping& mapping : process::read_memory_map(thread)) {
    if (!mapping.has_file() || !is_name_of_dump(mapping.name)) continue;
    const auto is_it = [&mapping](const Source& source) { return source.is_dump && source.inode == mapping.inode; };
    if (std::ranges::any_of(sources_, is_it) || std::ranges::count(sources_, true, &Source::is_dump) >= int{kMaxDumps})
      continue;
    base::UniqueFd file = elf::open_as_seen_by(thread, elf::path_below_root(thread, mapping.name));
    struct stat status{};
    if (!may_be_read(file) || fstat(file.get(), &status) != 0 || status.st_ino != mapping.inode) continue;
    sources_.push_back({.file = std::move(file), .is_dump = true, .inode = status.st_ino});
  }
}

void JitNames::read_on(Source& source) {
  const uint64_t most_bytes = source.is_dump ? kMaxDumpBytes : kMaxMapBytes;
  std::string piece;
  for (size_t piece_bytes = kPieceBytes; source.taken_bytes < most_bytes;) {
    piece.resize(piece_bytes);
    const ssize_t got = pread(source.file.get(), piece.data(), piece.size(), static_cast<off_t>(source.taken_bytes));
    if (got <= 0) return;
    const std::string_view bytes(piece.data(), static_cast<size_t>(got));
    const bool is_head = source.is_dump && source.taken_bytes == 0;
    const size_t taken = is_head          ? jitdump_head_bytes(bytes)
                         : source.is_dump ? read_jitdump(bytes, code_)
                                          : read_perf_map(bytes, code_);
    source.taken_bytes += taken;
    if (taken != 0) continue;
    if (bytes.size() < piece_bytes || piece_bytes >= kMaxRecordBytes) return;
    piece_bytes *= 2;  // a record that is longer than that
  }
}

std::vector<model::CodeName> JitNames::take(const model::Tables& tables) {
  for (; seen_codes_ < tables.codes.size(); ++seen_codes_) {
    if (open_.size() < kMaxOpenCodes && tables.module_of(tables.codes[seen_codes_]) == nullptr)
      open_.push_back(static_cast<model::CodeId>(seen_codes_));
  }
  std::vector<model::CodeName> names;
  if (open_.empty()) return names;
  look_for_map();
  look_for_dumps();
  for (Source& source : sources_) read_on(source);
  std::erase_if(open_, [&](model::CodeId id) {
    const model::Code& code = tables.codes[id];
    const std::string* const name = code_.name_at(code.exact ? code.address : code.address - 1);
    if (name != nullptr) names.push_back({id, *name});
    return name != nullptr;
  });
  return names;
}

}  // namespace heaptap::collect
