#include "analysis/symbols/downloads.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

#include "analysis/symbols/debuginfod.h"
#include "analysis/symbols/file_search.h"

namespace heaptap::symbols {
namespace {

constexpr size_t kMaxWanted = 256;  // a program may map files without end
constexpr uint64_t kMaxFileBytes = uint64_t{512} << 20;

bool has_lines(const ElfFile& file) { return file.has_section(".debug_info") || file.has_section(".zdebug_info"); }

bool is_here(const ResolverOptions& where, const std::string& path, const std::string& build_id) {
  FileSearch search({.symbol_directories = where.symbol_directories, .sysroots = where.sysroots});
  const auto module = search.find_module(path, build_id);
  if (module.file && has_lines(*module.file)) return true;
  return search
      .find_debug_file({.path = module.file ? module.file->path() : path,
                        .recorded_path = path,
                        .build_id = build_id,
                        .link = std::nullopt})
      .has_value();
}

// 0: unknown, or none.
uint64_t room_in(std::string directory) {
  struct statvfs system{};
  while (statvfs(directory.c_str(), &system) != 0) {
    if (errno != ENOENT || directory.find('/') == directory.npos) return 0;
    directory.resize(directory.rfind('/'));
    if (directory.empty()) directory = "/";
  }
  return room_for_downloads(uint64_t{system.f_bavail} * system.f_frsize, uint64_t{system.f_blocks} * system.f_frsize);
}

uint64_t size_of(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

}  // namespace

uint64_t room_for_downloads(uint64_t free, uint64_t all) {
  const uint64_t kept = std::min(uint64_t{2} << 30, all / 10);
  return free > kept ? free - kept : 0;
}

Downloads::Downloads(ResolverOptions where)
    : where_(std::move(where)),
      queue_([this](const Wanted& wanted, const std::stop_token& stop) { download(wanted, stop); }) {}
Downloads::~Downloads() = default;

void Downloads::want(const model::Module& module) {
  if (!where_.debuginfod || module.build_id.empty()) return;
  if (seen_.size() >= kMaxWanted || !seen_.insert(module.build_id).second) return;
  (void)queue_.add({module.path, module.build_id});
}

SymbolWork Downloads::work() {
  const std::scoped_lock lock(mutex_);
  return work_;
}

// Files that aren't found lack names later, which the report says.
void Downloads::download(const Wanted& wanted, const std::stop_token& stop) try {
  if (Debuginfod::are_silent() || is_here(where_, wanted.path, wanted.build_id)) return;
  const uint64_t room = std::min({kMaxFileBytes, left_bytes_, room_in(Debuginfod::cache_directory())});
  if (room == 0) return;
  auto servers = Debuginfod::create();
  if (!servers) return;
  {
    const std::scoped_lock lock(mutex_);
    work_ = {.kind = SymbolWork::Kind::kDownloading, .path = wanted.path};
  }
  bool has_come = false;  // else it was there already
  const auto note = [this, &has_come](uint64_t done, uint64_t total) {
    has_come = has_come || done > 0;
    const std::scoped_lock lock(mutex_);
    work_.done = done;
    work_.total = total;
  };
  const auto path = servers->find_debug_file(wanted.build_id, {.progress = note, .max_bytes = room, .stop = stop});
  if (path && has_come) left_bytes_ -= std::min(left_bytes_, size_of(*path));
} catch (const std::exception&) {
  return;  // no memory, or an unreadable file: the recording goes on without it
}

void Downloads::finish(const std::function<bool(const SymbolWork& work)>& goes_on) {
  queue_.drop_waiting();
  if (!queue_.wait([&] { return goes_on(work()); })) Debuginfod::pause();
  queue_.end();
}

}  // namespace heaptap::symbols
