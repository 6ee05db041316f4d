#include "capture/uplink/passed_rows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace heaptap::uplink {
namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr off_t kMaxFileBytes = off_t{32} << 20;  // RowTable::kMaxRows of maximum length

// Newer kernels can forbid executable memory files, and add a seal for it.
base::UniqueFd make_memory() {
  constexpr unsigned kIsNoProgram = 0x0008;  // MFD_NOEXEC_SEAL of Linux 6.3
  base::UniqueFd memory(memfd_create("heaptap-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING | kIsNoProgram));
  if (!memory && errno == EINVAL) memory.reset(memfd_create("heaptap-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  return memory;
}

bool has_all_seals(const base::UniqueFd& file) {
  const int seals = fcntl(file.get(), F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

}  // namespace

base::UniqueFd file_of(const model::RowTable& rows) {
  const std::vector<uint8_t> bytes = model::encode(rows);
  base::UniqueFd file = make_memory();
  if (!file) return {};
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = write(file.get(), bytes.data() + done, bytes.size() - done);
    if (written <= 0) return {};
    done += static_cast<size_t>(written);
  }
  return fcntl(file.get(), F_ADD_SEALS, kSeals) == 0 ? std::move(file) : base::UniqueFd();
}

std::optional<model::RowTable> rows_in(const base::UniqueFd& file) {
  struct stat status{};
  if (!has_all_seals(file) || fstat(file.get(), &status) != 0) return std::nullopt;
  if (status.st_size > kMaxFileBytes) return std::nullopt;
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  auto rows = model::decode_rows(bytes);
  return rows && !rows->empty() ? std::move(rows) : std::nullopt;
}

}  // namespace heaptap::uplink
