#include "apps/target/carried_agent.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/gzip.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/write_all.h"
#include "common/wire/handshake.h"

#ifdef HEAPTAP_CARRIES_AGENT
extern "C" const uint8_t heaptap_carried_agent[];
extern "C" const uint8_t heaptap_carried_agent_end[];
#endif

namespace heaptap::target {
namespace {

std::span<const uint8_t> carried() {
#ifdef HEAPTAP_CARRIES_AGENT
  return {heaptap_carried_agent, heaptap_carried_agent_end};
#else
  return {};
#endif
}

bool unpack(std::span<const uint8_t> packed, int file) {
  constexpr size_t kPieceBytes = size_t{16} << 10;
  std::string_view rest(reinterpret_cast<const char*>(packed.data()), packed.size());
  base::GzipReader reader;
  while (!rest.empty() && reader.state() != base::GzipReader::State::kDamaged) {
    char piece[kPieceBytes];
    const base::GzipReader::Progress progress = reader.read(rest, piece);
    rest.remove_prefix(progress.taken);
    if (!base::write_all(file, {piece, progress.made})) return false;
  }
  return reader.state() == base::GzipReader::State::kBetween;
}

// Later kernels can forbid executing files in memory unless they are marked as executable.
base::UniqueFd make_memory() {
  constexpr unsigned kIsProgram = 0x0010;  // MFD_EXEC of Linux 6.3
  base::UniqueFd memory(memfd_create(wire::kAgentFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING | kIsProgram));
  if (!memory && errno == EINVAL) {
    memory = base::UniqueFd(memfd_create(wire::kAgentFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  return memory;
}

}  // namespace

std::string unpack_carried_agent() {
  if (carried().empty()) return {};
  base::UniqueFd memory = make_memory();
  if (!memory || !unpack(carried(), memory.get())) return {};
  // From now on it is the code of other processes.
  if (fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return {};
  std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory.get());
  if (!base::exists(path)) return {};
  (void)memory.release();  // as long as the process lives
  return path;
}

}  // namespace heaptap::target
