#include "capture/supervision/jit_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include "capture/elf/object_file.h"
#include "capture/process/memory_map.h"
#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "capture/supervision/recording.h"
#include "common/base/clock.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/base/status_file.h"

namespace heaptap::supervision {
namespace {

constexpr const char* kMapDirectory = "tmp";  // below the process's root
constexpr size_t kMaxDumps = 4;
constexpr size_t kMaxOwners = 16;
constexpr size_t kMaxRefused = 4;
constexpr uint64_t kMaxMapBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxDumpBytes = uint64_t{2} << 30;
constexpr size_t kReadBytes = size_t{64} << 10;  // at once; longer lines are skipped
// If names are repeatedly dropped, the program makes them faster than they can be read.
constexpr unsigned kMaxSearchesAtEnd = 8;

// A directory below a root. Links are resolved as in that root, if the kernel supports it (5.6).
base::UniqueFd open_directory_in_root(const base::UniqueFd& root, const char* path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_DIRECTORY;
  how.resolve = RESOLVE_IN_ROOT;
  const long directory = syscall(SYS_openat2, root.get(), path, &how, sizeof(how));
  if (directory >= 0 || (errno != ENOSYS && errno != EPERM)) return base::UniqueFd(static_cast<int>(directory));
  return base::UniqueFd(openat(root.get(), path, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW));
}

struct Opened {
  base::UniqueFd file;
  int error = 0;
};

// With its metadata, since requesting that may block as well (common/base/served_files.h).
struct FoundFile {
  base::UniqueFd file;
  struct stat status{};
  bool is_there = false;

  explicit FoundFile(base::UniqueFd found) : file(std::move(found)) {
    is_there = file && fstat(file.get(), &status) == 0;
  }
};

// "…/jit-123.dump"
bool is_name_of_dump(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return path.starts_with('/') && name.starts_with("jit-") && name.ends_with(".dump");
}

// Whether it has not been written since a process began: an earlier one with its number wrote it. Of the file's time and the
// process's, one may be from before the system's clock was set: by a second that is ignored, else see find_map().
bool is_older(const struct stat& file, uint64_t start_ticks) {
  constexpr uint64_t kNsASecond = 1'000'000'000;
  const auto ticks_a_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  if (start_ticks == 0 || ticks_a_second == 0) return false;
  const uint64_t age_ns = base::clock_ns(CLOCK_BOOTTIME) - start_ticks * (kNsASecond / ticks_a_second);
  const auto written_s = static_cast<int64_t>(file.st_mtim.tv_sec);
  return written_s + 1 < static_cast<int64_t>((base::clock_ns(CLOCK_REALTIME) - age_ns) / kNsASecond);
}

bool lies_in(std::span<const model::Module> modules, const model::Code& code) {
  return model::find_module(modules, code) != nullptr;
}

}  // namespace

JitNames::JitNames(pid_t process, JitNamesOptions options)
    : process_(process),
      start_time_(process::read_start_time(process)),
      options_(std::move(options)),
      code_(options_.limits) {
  if (options_.believes_root) owners_ = {0};
  look_at_process();
}

// 0: it has exited, even if its number is used again.
pid_t JitNames::live_thread() const {
  return process::read_start_time(process_) == start_time_ ? process::find_live_thread(process_) : 0;
}

// Its user or root may have changed since the last look.
void JitNames::look_at_process() {
  const pid_t thread = live_thread();
  if (thread == 0) return;
  if (base::UniqueFd root(open(base::process_file(thread, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); root)
    look_for_directory(thread, std::move(root));
  pid_t own_number = process_;
  const std::string status = base::read_small_file(base::process_file(thread, "status"), 4096);
  const auto numbers = [&](std::string_view name) { return base::split(base::status_field(status, name), '\t'); };
  const auto number_of = [](std::string_view word) {
    uint32_t value = UINT32_MAX;
    (void)std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  const auto users = numbers("Uid");  // real and effective, then others
  for (size_t i = 0; i < std::min<size_t>(users.size(), 2); ++i) {
    const uid_t owner = number_of(users[i]);
    if (owner != UINT32_MAX && owners_.size() < kMaxOwners && !is_believed(owner)) owners_.push_back(owner);
  }
  // Of the thread, almost always the first one; the process's innermost number is the one that it uses itself.
  const auto own_numbers = numbers("NStgid");
  if (!own_numbers.empty() && !own_numbers.back().empty())
    own_number = static_cast<pid_t>(number_of(own_numbers.back()));
  map_name_ = fmt::format("perf-{}.map", own_number);
}

void JitNames::look_for_directory(pid_t thread, base::UniqueFd root) {
  const base::FilePlace place{.viewer = thread, .path = fmt::format("/{}", kMapDirectory)};
  auto& files = base::ServedFiles::of_process();
  auto found = files.look<base::UniqueFd>(place, [below = std::make_shared<const base::UniqueFd>(std::move(root))] {
    return open_directory_in_root(*below, kMapDirectory);
  });
  directory_ = found && *found ? files.keep(place, *std::move(found)) : nullptr;
}

void JitNames::seek(model::CodeId number, const model::Code& code, std::span<const model::Module> modules) {
  if (!model::is_named(code) && !lies_in(modules, code))
    code_.add(number, code.exact ? code.address : code.address - 1);
}

void JitNames::refuse(const std::string& path, std::string why) {
  const auto known = std::ranges::find(refused_, path, &std::pair<std::string, std::string>::first);
  if (known != refused_.end()) {
    known->second = std::move(why);
  } else if (refused_.size() < kMaxRefused) {
    refused_.emplace_back(path, std::move(why));
  }
}

bool JitNames::may_be_read(const struct stat& status, const std::string& path) {
  if (!options_.forbidden.empty()) {
    refuse(path, options_.forbidden);
  } else if (S_ISLNK(status.st_mode)) {
    refuse(path, base::make_error("it is a symbolic link").message);
  } else if (!S_ISREG(status.st_mode)) {
    refuse(path, base::make_error("it is not a regular file").message);
  } else if (!is_believed(status.st_uid)) {
    refuse(path, base::make_error("it belongs to user {}, not to the process's user", status.st_uid).message);
  } else {
    std::erase_if(refused_, [&path](const auto& refused) { return refused.first == path; });
    return true;
  }
  return false;
}

bool JitNames::is_believed(uid_t owner) const { return std::ranges::find(owners_, owner) != owners_.end(); }

JitNames::Source JitNames::source_of(const base::FilePlace& place, base::UniqueFd file, uint64_t inode) {
  const auto server = base::ServedFiles::server_of(place);
  return {.file = base::ServedFiles::of_process().keep(place, server, std::move(file)),
          .place = place,
          .server = server,
          .inode = inode};
}

// It may be written at the end alone, or rewritten. True: it is another file now.
bool JitNames::find_map() {
  if (!directory_) return false;
  const base::FilePlace place{.viewer = live_thread(), .path = fmt::format("/{}/{}", kMapDirectory, map_name_)};
  const std::string& path = place.path;
  auto& files = base::ServedFiles::of_process();
  const auto found = files.look<FoundFile>(place, [directory = directory_, name = map_name_] {
    return FoundFile(base::UniqueFd(openat(directory->get(), name.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW)));
  });
  if (!found || !found->is_there || !may_be_read(found->status, path)) return false;
  const struct stat& status = found->status;
  // One that the process has open is its own, whatever the clock was set to since it was written.
  if (is_older(status, start_time_) && !process::has_open(place.viewer, "/" + map_name_)) {
    refuse(path, base::make_error("it was written before the process began").message);
    return false;
  }
  const bool is_known = !sources_.empty() && !sources_.front().is_dump;
  if (is_known) {
    const Source& known = sources_.front();
    if (known.inode == status.st_ino && static_cast<uint64_t>(status.st_size) >= known.read_bytes) return false;
  }
  // The descriptor stays open until the file is opened, or is no longer wanted.
  const auto there = std::make_shared<const base::UniqueFd>(found->file.duplicate());
  auto opened = files.look<Opened>(place, [there] {
    Opened result{
        .file = base::UniqueFd(open(base::path_of(*there).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))};
    result.error = errno;
    return result;
  });
  if (!opened || !opened->file) {
    refuse(path, base::reason_of(opened ? opened->error : ETIMEDOUT));
    return false;
  }
  if (is_known) sources_.erase(sources_.begin());
  sources_.insert(sources_.begin(), source_of(place, std::move(opened->file), status.st_ino));
  return true;
}

// Its writer maps it, so that it is found in the mappings.
bool JitNames::find_dumps() {
  const pid_t thread = live_thread();
  if (thread == 0) return false;
  bool is_new = false;
  for (const process::Mapping& mapping : process::read_memory_map(thread)) {
    if (!mapping.has_file() || !is_name_of_dump(mapping.name)) continue;
    const auto is_it = [&mapping](const Source& source) { return source.is_dump && source.inode == mapping.inode; };
    if (std::ranges::any_of(sources_, is_it) || std::ranges::count(sources_, true, &Source::is_dump) >= int{kMaxDumps})
      continue;
    const base::FilePlace place = elf::place_of(thread, mapping);
    const auto find = [thread, path = elf::path_below_root(thread, mapping.name)] {
      return FoundFile(elf::open_as_seen_by(thread, path));
    };
    auto found = base::ServedFiles::of_process().look<FoundFile>(place, find);
    if (!found || !found->is_there) continue;
    Source source = source_of(place, std::move(found->file), mapping.inode);
    if (!may_be_read(found->status, mapping.name) || found->status.st_ino != mapping.inode) continue;
    source.is_dump = true;
    sources_.push_back(std::move(source));
    is_new = true;
  }
  return is_new;
}

void JitNames::find_files() {
  look_at_process();
  const bool has_map = find_map();
  const bool has_dump = find_dumps();
  if (!has_map && !has_dump) return;
  restarts_ = true;
  is_searching_ = false;
}

void JitNames::begin_search() {
  find_files();
  const bool has_others = std::exchange(restarts_, false);
  const bool reads_all = code_.needs_all() || has_others;
  began_at_end_ = is_at_end_;
  code_.begin();
  for (Source& source : sources_) {
    source.at = reads_all ? 0 : source.read_bytes;
    source.is_in_long_line = source.is_in_long_line && !reads_all;
  }
  source_at_ = 0;
  is_searching_ = true;
}

void JitNames::end_search() {
  for (Source& source : sources_) source.read_bytes = source.at;
  std::vector<model::CodeName> names = code_.end();
  found_.insert(found_.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  is_searching_ = false;
}

// A line longer than the buffer: its beginning was used, the rest is skipped.
void JitNames::skip_long_line(Source& source, std::string_view bytes) {
  const size_t end = bytes.find('\n');
  source.is_in_long_line = end == bytes.npos;
  source.at += source.is_in_long_line ? bytes.size() : end + 1;
}

// Nothing: end of file, or a read error.
JitNames::Piece JitNames::read_bytes(const Source& source) {
  const auto read = [file = source.file, at = source.at] {
    Piece piece;
    struct stat status{};
    if (fstat(file->get(), &status) == 0) piece.file_bytes = static_cast<uint64_t>(status.st_size);
    piece.bytes.resize(kReadBytes);
    const ssize_t got = pread(file->get(), piece.bytes.data(), piece.bytes.size(), static_cast<off_t>(at));
    piece.bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return piece;
  };
  return base::ServedFiles::of_process().look<Piece>(source.place, source.server, read).value_or(Piece());
}

// False: no more for now.
bool JitNames::read_piece(Source& source) {
  if (source.at >= (source.is_dump ? kMaxDumpBytes : kMaxMapBytes)) return false;
  const Piece piece = read_bytes(source);
  const std::string_view bytes = piece.bytes;
  if (bytes.empty()) return false;
  if (source.is_in_long_line) {
    skip_long_line(source, bytes);
    return true;
  }
  uint64_t taken = 0;
  if (source.is_dump && source.at == 0) {
    taken = jitdump_head_bytes(bytes);
  } else if (source.is_dump) {
    if (piece.file_bytes <= source.at) return false;
    taken = read_jitdump(bytes, piece.file_bytes - source.at, code_);
  } else {
    taken = read_perf_map(bytes, code_);
    if (taken == 0 && bytes.size() == kReadBytes) {
      read_perf_map(std::string(bytes.substr(0, 2 * model::kMaxCodeNameBytes)) + '\n', code_);
      skip_long_line(source, bytes);
      return true;
    }
  }
  source.at += taken;
  return taken != 0;
}

// One search, with a time limit. True: it is finished, or nothing is searched for.
bool JitNames::read_on(std::chrono::nanoseconds most) {
  const uint64_t until = base::clock_ns(CLOCK_MONOTONIC) + static_cast<uint64_t>(most.count());
  if (code_.is_empty()) return true;
  if (!is_searching_) begin_search();
  for (; source_at_ < sources_.size(); ++source_at_) {
    while (read_piece(sources_[source_at_])) {
      if (base::clock_ns(CLOCK_MONOTONIC) >= until) return false;
    }
  }
  end_search();
  return true;
}

void JitNames::read_a_while(uint64_t rest_ns, std::chrono::nanoseconds most) {
  constexpr uint64_t kRest = 50;  // a multiple of the time that it took
  const uint64_t begin = base::clock_ns(CLOCK_MONOTONIC);
  if (begin < done_at_ns_ + std::max(rest_ns, took_ns_ * kRest) || has_found()) return;
  const bool is_done = read_on(most);
  const uint64_t end = base::clock_ns(CLOCK_MONOTONIC);
  busy_ns_ += end - begin;
  if (!is_done) return;
  took_ns_ = std::exchange(busy_ns_, 0);
  done_at_ns_ = end;
}

void JitNames::proceed() { read_a_while(longest_unwritten_ns(), std::chrono::milliseconds(2)); }

void JitNames::catch_up() { read_a_while(0, std::chrono::milliseconds(20)); }

bool JitNames::read_to_end(std::chrono::nanoseconds most) {
  is_at_end_ = true;
  if (searches_at_end_ >= kMaxSearchesAtEnd || code_.is_empty()) return true;
  if (!read_on(most)) return false;
  ++searches_at_end_;
  return began_at_end_ && !code_.needs_all();
}

std::vector<model::CodeName> JitNames::take() { return std::exchange(found_, {}); }

std::vector<base::Error> JitNames::why_missing() const {
  std::vector<base::Error> errors;
  if (code_.is_empty()) return errors;
  for (const auto& [path, why] : refused_) {
    errors.push_back(base::make_error("names of generated code (JIT): {} is not read: {}", path, why));
  }
  return errors;
}

}  // namespace heaptap::supervision
