#include "capture/stream/module_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "capture/elf/object_file.h"
#include "capture/process/memory_map.h"
#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"
#include "common/wire/log.h"

namespace heaptap::stream {
namespace {

bool is_file_of(const base::UniqueFd& file, const model::Module& module) {
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const std::vector<uint8_t> build_id = elf::read_build_id(elf::FileBytes(file.get()));
  return std::string_view(reinterpret_cast<const char*>(build_id.data()), build_id.size()) == module.build_id;
}

std::optional<process::Mapping> mapping_of(pid_t thread, const model::Module& module) {
  const std::vector<process::Mapping> map = process::read_memory_map(thread);
  const process::Mapping* const first = process::find_mapping(map, module.start);
  return first != nullptr && first->has_file() ? std::optional(*first) : std::nullopt;
}

// The mapped file itself, even if it is deleted, replaced or in another mount namespace.
base::UniqueFd open_mapped(pid_t thread, const process::Mapping& first, const model::Module& module) {
  elf::MappedObject object;
  object.first = first;
  object.build_id.assign(module.build_id.begin(), module.build_id.end());
  return elf::open_object_file(thread, object).file;
}

// /proc/PID/map_files needs privileges, this link doesn't.
base::UniqueFd open_program(pid_t thread) {
  return base::UniqueFd(open(base::process_file(thread, "exe").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

base::UniqueFd open_it(pid_t thread, const std::optional<process::Mapping>& first, const model::Module& module) {
  if (thread != 0) {
    if (first) {
      if (base::UniqueFd file = open_mapped(thread, *first, module); is_file_of(file, module)) return file;
    }
    if ((module.flags & wire::kModuleIsMain) != 0) {
      if (base::UniqueFd file = open_program(thread); is_file_of(file, module)) return file;
    }
  }
  // It has ended. The build-id proves that its file is still at that path.
  if (!module.path.starts_with('/')) return {};
  base::UniqueFd file = elf::open_as_seen_by(0, module.path);
  return is_file_of(file, module) ? std::move(file) : base::UniqueFd();
}

bool has_exact_file(const model::Module& module) {
  return !module.build_id.empty() && (module.flags & wire::kModuleIsVdso) == 0;
}

// Place of a module's file, as its process sees it while it lives.
struct Lookup {
  Lookup(pid_t process, const model::Module& module)
      : thread(process::find_live_thread(process)),
        first(thread != 0 ? mapping_of(thread, module) : std::nullopt),
        place(first ? elf::place_of(thread, *first) : base::FilePlace{.viewer = thread, .path = module.path}) {}
  [[nodiscard]] base::UniqueFd open(const model::Module& module) const { return open_it(thread, first, module); }

  pid_t thread;
  std::optional<process::Mapping> first;
  base::FilePlace place;
};

std::string follow(pid_t thread, const std::string& path) {
  const base::UniqueFd opened = elf::open_as_seen_by(thread, path);
  if (!opened) return {};
  std::string file = base::read_link(fmt::format("/proc/self/fd/{}", opened.get()));
  if (thread != 0) file = elf::path_below_root(thread, std::move(file));
  struct stat there{};
  const bool is_deleted = file.ends_with(" (deleted)") && lstat(file.c_str(), &there) != 0;
  return file == path || !file.starts_with('/') || is_deleted ? std::string() : file;
}

}  // namespace

base::UniqueFd open_module_file(pid_t process, const model::Module& module) {
  if (!has_exact_file(module)) return {};
  const Lookup lookup(process, module);
  const auto open = [lookup, module] { return base::own_copy(lookup.open(module)); };
  auto file = base::ServedFiles::of_process().look<base::UniqueFd>(lookup.place, open);
  return file ? *std::move(file) : base::UniqueFd();
}

std::string file_behind(pid_t process, const std::string& path) {
  if (!path.starts_with('/')) return {};
  const pid_t thread = process::find_live_thread(process);
  const auto look = [thread, path] { return follow(thread, path); };
  const base::FilePlace place{.viewer = thread, .path = path};
  return base::ServedFiles::of_process().look<std::string>(place, look).value_or(std::string());
}

std::string lasting_path(pid_t process, const model::Module& module) {
  const bool is_of_process = module.path.starts_with("/proc/") || module.path.starts_with("/dev/fd/");
  const pid_t thread = is_of_process ? process::find_live_thread(process) : 0;
  if (thread == 0) return module.path;
  const auto first = mapping_of(thread, module);
  if (!first) return module.path;
  std::string name = elf::path_below_root(thread, first->name);
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.starts_with("/memfd:") && name.ends_with(kDeleted)) name.resize(name.size() - kDeleted.size());
  return name.starts_with('/') ? name : module.path;
}

std::optional<PiecewiseFile> PiecewiseFile::open(pid_t process, const model::Module& module) {
  if (!has_exact_file(module)) return std::nullopt;
  const Lookup lookup(process, module);
  auto& files = base::ServedFiles::of_process();
  std::optional<base::FileServer> server = base::ServedFiles::server_of(lookup.place);
  auto file = files.look<base::UniqueFd>(lookup.place, server, [lookup, module] { return lookup.open(module); });
  if (!file || !*file) return std::nullopt;
  auto kept = files.keep(lookup.place, server, *std::move(file));
  return PiecewiseFile(lookup.place, std::move(server), std::move(kept));
}

base::Result<PiecewiseFile::Piece> PiecewiseFile::read(uint64_t offset, size_t max_bytes) const {
  const auto look = [file = file_, offset, max_bytes]() -> base::Result<Piece> {
    struct stat status{};
    if (fstat(file->get(), &status) != 0) return base::fail("it can't be read: {}", base::reason_of(errno));
    Piece piece{.file_bytes = static_cast<uint64_t>(status.st_size)};
    const uint64_t rest_bytes = piece.file_bytes - std::min(piece.file_bytes, offset);
    piece.bytes.resize(static_cast<size_t>(std::min<uint64_t>(max_bytes, rest_bytes)));
    piece.bytes.resize(elf::FileBytes(file->get()).read_some(offset, piece.bytes.data(), piece.bytes.size()));
    return piece;
  };
  auto piece = base::ServedFiles::of_process().look<base::Result<Piece>>(place_, server_, look);
  if (!piece) return base::fail("it can't be read: its file system doesn't respond");
  return *std::move(piece);
}

}  // namespace heaptap::stream
