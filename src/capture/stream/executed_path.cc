#include "capture/stream/executed_path.h"

#include <string_view>

#include "capture/elf/elf_headers.h"
#include "capture/elf/loader_list.h"
#include "capture/elf/object_file.h"
#include "capture/process/process_memory.h"
#include "capture/process/process_status.h"
#include "capture/stream/module_file.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::stream {
namespace {

constexpr size_t kMaxPathBytes = 4096;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string executed_path(pid_t process, unsigned word_bytes) {
  const pid_t thread = process::find_live_thread(process);
  if (thread == 0) return {};
  const auto form = elf::ElfForm::of_this_machine(word_bytes);
  const elf::AuxiliaryVector vector =
      elf::parse_auxiliary_vector(base::read_small_file(base::process_file(thread, "auxv")), form);
  if (vector.executed_path == 0) return {};
  std::string path = elf::read_text(process::ProcessMemory(thread, word_bytes), vector.executed_path, kMaxPathBytes);
  if (path.empty() || path.starts_with('/')) return path;
  const std::string directory = elf::read_process_link(thread, "cwd");
  std::string_view below = path;
  while (below.starts_with("./")) below.remove_prefix(2);
  return directory.empty() ? std::string() : directory + "/" + std::string(below);
}

std::string program_path(pid_t process, const std::string& file, const std::string& executed) {
  const bool is_of_process = executed.starts_with("/proc/") || executed.starts_with("/dev/fd/");
  if (executed.empty() || is_of_process || file_name(executed) == file_name(file)) return file;
  return file_behind(process, executed) == file ? executed : file;
}

}  // namespace heaptap::stream
