#include "capture/uplink/recording_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "capture/uplink/stream_replay.h"
#include "common/message/common_messages.h"

namespace heaptap::uplink {
namespace {

constexpr std::string_view kMagic(kRecordingFileMagic, 8);

}  // namespace

base::Result<RecordingFile> RecordingFile::create(const std::string& path, bool overwrite) {
  struct stat status{};
  if (overwrite && lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return base::fail("{} is not a regular file that can be replaced", path);
  }
  if (overwrite && unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::fail("can't replace {}: {}", path, base::reason_of(errno));
  }
  constexpr mode_t kOwnersAlone = 0600;
  base::UniqueFd descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnersAlone));
  if (!descriptor && errno == EEXIST) {
    return base::fail("{} exists already: choose another name, or use --force", path);
  }
  if (!descriptor) return base::fail("can't write {}: {}", path, base::reason_of(errno));
  RecordingFile file(path, std::move(descriptor));
  file.write(std::string(kMagic) + message::encode(message::hello()));
  if (file.failed_) return std::unexpected(*std::move(file.failed_));
  return file;
}

// All or nothing.
void RecordingFile::write(std::string_view bytes) {
  if (failed_) return;
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count =
        pwrite(file_.get(), bytes.data() + written, bytes.size() - written, static_cast<off_t>(size_bytes_ + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      failed_ = base::make_error("can't write to {} any more: {}; it has everything recorded so far", path_,
                                 base::reason_of(count < 0 ? errno : ENOSPC));
      if (ftruncate(file_.get(), static_cast<off_t>(size_bytes_)) != 0) return;  // up to the last message
      return;
    }
    written += static_cast<size_t>(count);
  }
  size_bytes_ += bytes.size();
}

void RecordingFile::remove() { unlink(path_.c_str()); }

void RecordingFile::send(const message::Message& message) { write(message::encode(message)); }

base::Result<stream::LiveBlocks> RecordingFile::live_blocks(uint64_t stream, uint64_t /*events*/,
                                                            std::optional<ExitWait> exit_wait,
                                                            const std::function<void()>& /*meanwhile*/) {
  if (failed_) return std::unexpected(*failed_);
  constexpr uint64_t kSoonReadBytes = uint64_t{16} << 20;
  if (exit_wait && exit_wait->is_optional && size_bytes_ > kSoonReadBytes)
    return base::fail("no leak scan: {} is large", path_);
  auto reader = RecordingFileReader::read(file_.duplicate(), path_);
  if (!reader) return std::unexpected(std::move(reader).error());
  StreamReplay replay(stream);
  while (const auto message = reader->next()) replay.take(*message);
  if (!reader->why_over().empty()) return base::fail("no leak scan: {}: {}", path_, reader->why_over());
  return replay.finish();
}

base::Result<RecordingFileReader> RecordingFileReader::open(const std::string& path) {
  base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::fail_as(base::ErrorKind::kNotFound, "can't read {}: {}", path, base::reason_of(errno));
  return read(std::move(file), path);
}

base::Result<RecordingFileReader> RecordingFileReader::read(base::UniqueFd file, const std::string& path) {
  std::array<char, 8> magic{};
  const ssize_t count = pread(file.get(), magic.data(), magic.size(), 0);
  if (count < 0) return base::fail("can't read {}: {}", path, base::reason_of(errno));
  if (std::string_view(magic.data(), static_cast<size_t>(count)) != kMagic) {
    return base::fail("{} is not a recording of heaptap-target", path);
  }
  RecordingFileReader reader(std::move(file));
  reader.offset_ = kMagic.size();
  const auto hello = reader.next();
  if (!hello || hello->kind != message::CommonKind::kHello) return base::fail("the beginning of {} is damaged", path);
  if (const uint32_t major = message::decode_hello(hello->fields).major; major != message::kMajorVersion) {
    return base::fail(
        "{} is of version {} of the protocol, this heaptap reads version {}: use the same release of both", path, major,
        message::kMajorVersion);
  }
  return reader;
}

bool RecordingFileReader::read_more() {
  constexpr size_t kReadBytes = size_t{64} << 10;
  std::string piece(kReadBytes, '\0');
  ssize_t count = 0;
  do {
    count = pread(file_.get(), piece.data(), piece.size(), static_cast<off_t>(offset_));
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    if (count < 0) why_over_ = base::make_error("can't read the rest: {}", base::reason_of(errno)).message;
    if (count == 0 && reader_.waiting_bytes() > 0)
      why_over_ = base::make_error("it ends in the middle of a message").message;
    return false;
  }
  offset_ += static_cast<uint64_t>(count);
  reader_.add(std::string_view(piece).substr(0, static_cast<size_t>(count)));
  return true;
}

void RecordingFileReader::add_waits(std::vector<pollfd>& waits) const {
  if (!is_over_) waits.push_back({file_.get(), POLLIN, 0});
}

std::optional<message::Message> RecordingFileReader::next() {
  while (!is_over_) {
    if (auto message = reader_.next()) return message;
    if (!reader_.is_sound()) why_over_ = base::make_error("it is damaged after its first {} bytes", offset_).message;
    is_over_ = !reader_.is_sound() || !read_more();
  }
  return std::nullopt;
}

}  // namespace heaptap::uplink
