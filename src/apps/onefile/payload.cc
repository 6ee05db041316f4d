#include "apps/onefile/payload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/write_all.h"

namespace heaptap::onefile {
namespace {

constexpr const char* kOwnFile = "/proc/self/exe";
constexpr std::array<char, 16> kMagic{'h', 'e', 'a', 'p', 't', 'a', 'p', ' ', 'o', 'n', 'e', ' ', 'f', 'i', 'l', 'e'};
constexpr uint64_t kMaxArchiveBytes = uint64_t{1} << 30;

struct Foot {
  std::array<char, 16> magic;
  uint64_t begin;
  uint64_t size_bytes;
  uint64_t hash;  // FNV-1a of the compressed archive: a name, no proof
};
static_assert(sizeof(Foot) == 40);

uint64_t hash_of(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

base::Result<std::string> read_piece(const base::UniqueFd& file, uint64_t begin, uint64_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  size_t used = 0;
  while (used < bytes.size()) {
    const ssize_t count = pread(file.get(), bytes.data() + used, bytes.size() - used, static_cast<off_t>(begin + used));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail("can't read this program's own file: {}", base::reason_of(errno));
    if (count == 0) return base::fail("this program's own file became shorter while it was read: start it again");
    used += static_cast<size_t>(count);
  }
  return bytes;
}

// The archive's compressed bytes, and the foot behind them.
base::Result<std::pair<std::string, Foot>> read_compressed() {
  const base::UniqueFd file(open(kOwnFile, O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) {
    return base::fail("can't open {}: {}; heaptap needs /proc", kOwnFile, base::reason_of(errno));
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  Foot foot{};
  const auto incomplete = [&] {
    return base::fail(
        "this program's file is incomplete ({} bytes): copy it again, unchanged (`strip` would shorten it)", size);
  };
  if (size < sizeof(Foot)) return incomplete();
  const auto end = read_piece(file, size - sizeof(Foot), sizeof(Foot));
  if (!end) return std::unexpected(end.error());
  std::memcpy(&foot, end->data(), sizeof(Foot));
  const uint64_t payload_end = size - sizeof(Foot);
  if (foot.magic != kMagic || foot.begin > payload_end || foot.size_bytes != payload_end - foot.begin)
    return incomplete();
  auto bytes = read_piece(file, foot.begin, foot.size_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  return std::pair(*std::move(bytes), foot);
}

base::Result<std::string> read_whole(const std::string& path) {
  errno = 0;
  std::string bytes = base::read_small_file(path);
  if (bytes.empty()) return base::fail("can't read {}: {}", path, errno == 0 ? "it is empty" : base::reason_of(errno));
  return bytes;
}

}  // namespace

base::Result<Payload> read_own_payload() {
  const auto read = read_compressed();
  if (!read) return std::unexpected(read.error());
  const auto& [compressed, foot] = *read;
  const auto damaged = [] { return base::fail("this program's file is damaged: copy it again"); };
  const unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == 0 || size > kMaxArchiveBytes) return damaged();  // unknown and wrong are large numbers
  Payload payload{.name = fmt::format("{}-{}-{:016x}", HEAPTAP_VERSION, HEAPTAP_CPU_NAME, foot.hash),
                  .memory = std::make_unique_for_overwrite<char[]>(size),
                  .archive = {}};
  const size_t made = ZSTD_decompress(payload.memory.get(), size, compressed.data(), compressed.size());
  if (ZSTD_isError(made) != 0 || made != size) return damaged();
  payload.archive = {payload.memory.get(), made};
  return payload;
}

base::Result<> write_with_payload(const std::string& archive, const std::string& output) {
  const auto program = read_whole(kOwnFile);
  if (!program) return std::unexpected(program.error());
  const auto compressed = read_whole(archive);
  if (!compressed) return std::unexpected(compressed.error());
  const Foot foot{
      .magic = kMagic, .begin = program->size(), .size_bytes = compressed->size(), .hash = hash_of(*compressed)};
  const base::UniqueFd file(open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
  if (!file) return base::fail("can't make {}: {}", output, base::reason_of(errno));
  for (const std::string_view part : {std::string_view(*program), std::string_view(*compressed),
                                      std::string_view(reinterpret_cast<const char*>(&foot), sizeof(foot))}) {
    if (!base::write_all(file.get(), part)) return base::fail("can't write: {}", base::reason_of(errno));
  }
  return {};
}

}  // namespace heaptap::onefile
