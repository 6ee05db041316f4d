// Recording as a file, for later reading by a host (`heaptap-target record`): the messages of a line, in order.
//
//   file  ┌ magic 8 ┬ kHello ┬ message ┬ message ┬ … ┬ kAllEnded ┐     messages as in common/message/message.h, at most 1 MiB each
//
// A file that ends before kAllEnded is truncated: the messages before that are valid. Its content is not trusted.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/uplink/uplink.h"
#include "common/base/unique_fd.h"
#include "common/line/reliable_line.h"
#include "common/message/message.h"

namespace heaptap::uplink {

inline constexpr char kRecordingFileMagic[9] = "HTAPFAR\n";

class RecordingFile final : public Uplink {
 public:
  // Readable only by its user. `overwrite`: replaces an existing file; else there must be none.
  static base::Result<RecordingFile> create(const std::string& path, bool overwrite);

  // Removes a file in which nothing was recorded.
  void remove();

  void send(const message::Message& message) override;
  [[nodiscard]] bool has_room() const override { return true; }
  [[nodiscard]] size_t waiting_bytes() const override { return 0; }
  [[nodiscard]] bool is_given_up() const override { return failed_.has_value(); }
  base::Result<stream::LiveBlocks> live_blocks(uint64_t stream, uint64_t events, std::optional<ExitWait> exit_wait,
                                               const std::function<void()>& meanwhile) override;

  // Error that ended writing: disk full or similar. The part written before is valid.
  [[nodiscard]] const std::optional<base::Error>& failure() const { return failed_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

 private:
  RecordingFile(std::string path, base::UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  void write(std::string_view bytes);

  std::string path_;
  base::UniqueFd file_;
  uint64_t size_bytes_ = 0;  // of complete messages
  std::optional<base::Error> failed_;
};

// Reader of such a file's messages.
class RecordingFileReader {
 public:
  // Error: unreadable, or no such file.
  static base::Result<RecordingFileReader> open(const std::string& path);
  static base::Result<RecordingFileReader> read(base::UniqueFd file, const std::string& path);

  // None: no further message.
  std::optional<message::Message> next();
  // For a poll() loop: always ready, until the end.
  void add_waits(std::vector<pollfd>& waits) const;
  // Reason for the end: invalid data, or truncation within a message. Empty: regular end of the file.
  [[nodiscard]] const std::string& why_over() const { return why_over_; }

 private:
  explicit RecordingFileReader(base::UniqueFd file) : file_(std::move(file)) {}
  bool read_more();

  base::UniqueFd file_;
  uint64_t offset_ = 0;  // bytes read
  message::MessageReader reader_{line::kMaxMessageBytes};
  bool is_over_ = false;
  std::string why_over_;
};

}  // namespace heaptap::uplink
