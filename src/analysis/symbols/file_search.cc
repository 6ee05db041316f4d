#include "analysis/symbols/file_search.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace heaptap::symbols {
namespace {

constexpr std::string_view kDebugRoot = "/usr/lib/debug";
constexpr size_t kDirectoryLimit = 64;

// Candidates for a path: the whole path first, then without its leading directories.
std::vector<std::string> tails_of(std::string_view path) {
  std::vector<std::string> tails;
  while (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty() && tails.size() < kDirectoryLimit) {
    tails.emplace_back(path);
    const size_t slash = path.find('/');
    if (slash == path.npos) break;
    path.remove_prefix(slash + 1);
    while (path.starts_with('/')) path.remove_prefix(1);
  }
  return tails;
}

std::string_view directory_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view(".") : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// The kernel's suffix of a deleted file's name.
std::string_view without_deleted_mark(std::string_view path) {
  constexpr std::string_view kMark = " (deleted)";
  if (path.ends_with(kMark)) path.remove_suffix(kMark.size());
  return path;
}

}  // namespace

FileSearch::FileSearch(ResolverOptions options)
    : directories_(std::move(options.symbol_directories)), cache_(FileCache::of_user()) {
  directories_.insert(directories_.end(), options.sysroots.begin(), options.sysroots.end());
  if (!options.debuginfod || !has_debuginfod_servers()) return;
  auto servers = Debuginfod::create();
  if (!servers) {
    servers_failure_ = std::move(servers).error().message;
    return;
  }
  debuginfod_ = *std::move(servers);
  if (!options.progress) return;
  progress_ = [tell = std::move(options.progress)](uint64_t done, uint64_t total) {
    tell({.kind = SymbolWork::Kind::kDownloading, .path = {}, .done = done, .total = total});
  };
}

FoundModule FileSearch::find_module(const std::string& path, const std::string& build_id) {
  FoundModule found;
  if (provider_ != nullptr) {
    found.file = ask_provider(build_id, Wanted::kObject);
    return found;
  }
  const std::string_view plain = without_deleted_mark(path);
  // A path below /proc names another file for each process.
  const bool was_deleted = plain.size() != path.size() || plain.starts_with("/proc/");
  auto try_file = [&](const std::string& candidate) {
    auto file = ElfFile::open(candidate);
    if (!file) return false;
    const bool is_it = build_id.empty() ? !was_deleted : file->build_id() == build_id;
    if (!is_it) {
      if (!found.other) found.other = OtherFile{candidate, file->build_id()};
      return false;
    }
    found.file = std::move(file);
    return true;
  };
  const std::vector<std::string> tails = tails_of(plain);
  for (const std::string& directory : directories_) {
    for (const std::string& tail : tails) {
      if (try_file(fmt::format("{}/{}", directory, tail)) || try_file(fmt::format("{}/{}.debug", directory, tail)))
        return found;
    }
  }
  if (plain.starts_with('/') && try_file(std::string(plain))) return found;
  // A debug file alone also has the symbols and the addresses.
  found.file = find_by_build_id(build_id);
  if (!found.file) found.file = look_into_cache(build_id);
  if (!found.file) found.file = ask_servers(build_id);
  return found;
}

std::optional<ElfFile> FileSearch::find_debug_file(const DebugRequest& request) {
  if (provider_ != nullptr) return ask_provider(request.build_id, Wanted::kDebugFile);
  if (auto file = find_by_build_id(request.build_id)) return file;
  if (auto file = find_by_link(request)) return file;
  return ask_servers(request.build_id);
}

std::optional<ElfFile> FileSearch::find_by_build_id(const std::string& build_id) {
  if (build_id.size() < 2) return std::nullopt;
  if (provider_ != nullptr) return ask_provider(build_id, Wanted::kAny);
  std::vector<std::string> roots;
  for (const std::string& directory : directories_) {
    roots.push_back(directory);
    roots.push_back(fmt::format("{}{}", directory, kDebugRoot));
  }
  roots.emplace_back(kDebugRoot);
  const std::string path = build_id_path(build_id);
  for (const std::string& root : roots) {
    for (const char* suffix : {".debug", ""}) {
      auto file = ElfFile::open(fmt::format("{}/{}{}", root, path, suffix));
      if (file && file->build_id() == build_id) return file;
    }
  }
  return std::nullopt;
}

std::optional<ElfFile> FileSearch::find_by_link(const DebugRequest& request) {
  if (!request.link) return std::nullopt;
  const std::string_view name = name_of(request.link->name);
  const std::string_view own_directory = directory_of(request.path);
  std::vector<std::string> candidates{fmt::format("{}/{}", own_directory, name),
                                      fmt::format("{}/.debug/{}", own_directory, name)};
  for (const std::string& directory : directories_) {
    const std::string recorded_directory(directory_of(request.recorded_path));
    candidates.push_back(fmt::format("{}{}/{}/{}", directory, kDebugRoot, recorded_directory, name));
    for (const std::string& tail : tails_of(recorded_directory)) {
      candidates.push_back(fmt::format("{}/{}/{}", directory, tail, name));
      candidates.push_back(fmt::format("{}/{}/.debug/{}", directory, tail, name));
    }
    candidates.push_back(fmt::format("{}/{}", directory, name));
    candidates.push_back(fmt::format("{}/.debug/{}", directory, name));
  }
  candidates.push_back(fmt::format("{}{}/{}", kDebugRoot, own_directory, name));
  if (const std::string_view there = directory_of(request.recorded_path);
      there != own_directory && there.starts_with('/')) {
    candidates.push_back(fmt::format("{}/{}", there, name));
    candidates.push_back(fmt::format("{}/.debug/{}", there, name));
    candidates.push_back(fmt::format("{}{}/{}", kDebugRoot, there, name));
  }
  for (const std::string& candidate : candidates) {
    if (candidate == request.path) continue;
    auto file = ElfFile::open(candidate);
    if (!file) continue;
    // Equal build-ids are stronger than the checksum, which needs the whole file.
    const std::string build_id = file->build_id();
    const bool both_have_ids = !build_id.empty() && !request.build_id.empty();
    if (both_have_ids ? build_id == request.build_id : file->crc() == request.link->crc) return file;
  }
  return std::nullopt;
}

std::optional<ElfFile> FileSearch::look_into_cache(const std::string& build_id) {
  if (!cache_ || build_id.size() < 2) return std::nullopt;
  auto file = ElfFile::open(cache_->path_of(build_id));
  if (!file || file->build_id() != build_id) return std::nullopt;
  cache_->note_use(build_id);
  return file;
}

// The file with the most data wanted, among those with one build-id.
std::optional<ElfFile> FileSearch::ask_provider(const std::string& build_id, Wanted wanted) {
  std::optional<ElfFile> best;
  int most = -1;
  size_t number = 0;
  for (base::UniqueFd& descriptor : provider_->files_of(build_id)) {
    auto file = ElfFile::adopt(std::move(descriptor), fmt::format("{}", ++number));
    if (!file || file->build_id() != build_id) continue;
    const bool has_code = file->has_section(".text");
    const bool is_full = file->has_section(".debug_info") || file->has_section(".zdebug_info");
    if (wanted == Wanted::kDebugFile && !is_full && !file->has_section(".symtab")) continue;
    // A complete object before one with names only, before one without; a debug file only if there is no object.
    int value = (is_full ? 2 : 0) + (file->has_section(".symtab") ? 1 : 0);
    if (wanted == Wanted::kObject && has_code) value += 4;
    if (value <= most) continue;
    most = value;
    best = std::move(file);
  }
  return best;
}

std::optional<ElfFile> FileSearch::ask_servers(const std::string& build_id) {
  if (!debuginfod_ || build_id.empty()) return std::nullopt;
  const auto path = debuginfod_->find_debug_file(build_id, {.progress = progress_});
  if (!path) return std::nullopt;
  auto file = ElfFile::open(*path);
  return file && file->build_id() == build_id ? std::move(file) : std::nullopt;
}

}  // namespace heaptap::symbols
