// A recording as a file, for a host that reads it later (`heaptap-target record`): the messages that would cross a line, in order.
//
//   file  ┌ magic 8 ┬ kHello ┬ message ┬ message ┬ … ┬ kAllEnded ┐     messages as in control/message.h, at most 1 MiB each
//
// A file that ends anywhere before that was cut off: what is there holds. Nothing in it is trusted.
#pragma once
#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "control/message.h"
#include "remote/outlet.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

inline constexpr char kRecordingFileMagic[9] = "HTAPFAR\n";

class RecordingFile final : public Outlet {
 public:
  // Only its user may read it. `overwrite`: another file of that name goes; else there may be none.
  static base::Result<RecordingFile> create(const std::string& path, bool overwrite);

  // Of one in which nothing was recorded.
  void remove();

  void send(const control::Message& message) override;
  [[nodiscard]] bool has_room() const override { return true; }
  [[nodiscard]] size_t waiting_bytes() const override { return 0; }
  [[nodiscard]] bool is_given_up() const override { return failed_.has_value(); }
  base::Result<collect::LiveBlocks> live_blocks(uint64_t stream, uint64_t events,
                                                std::optional<std::chrono::nanoseconds> exit_wait,
                                                const std::function<void()>& meanwhile) override;

  // Why nothing is written any more: no space is left, or the like. What was written before it holds.
  [[nodiscard]] const std::optional<base::Error>& failure() const { return failed_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

 private:
  RecordingFile(std::string path, base::UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}
  void write(std::string_view bytes);

  std::string path_;
  base::UniqueFd file_;
  uint64_t size_bytes_ = 0;  // of whole messages
  std::optional<base::Error> failed_;
};

// Gives the messages of such a file.
class RecordingFileReader {
 public:
  // An error: it can't be read, or is no such file.
  static base::Result<RecordingFileReader> open(const std::string& path);
  static base::Result<RecordingFileReader> read(base::UniqueFd file, const std::string& path);

  // None: there is no further one.
  std::optional<control::Message> next();
  // For a poll() loop: there is always more, until there is none.
  void add_waits(std::vector<pollfd>& waits) const;
  // Why there is none: what is wrong with the bytes, or that they end within a message. Empty: the file ends here.
  [[nodiscard]] const std::string& why_over() const { return why_over_; }

 private:
  explicit RecordingFileReader(base::UniqueFd file) : file_(std::move(file)) {}
  bool read_more();

  base::UniqueFd file_;
  uint64_t offset_ = 0;  // of what was read
  control::MessageReader reader_{kMaxMessageBytes};
  bool is_over_ = false;
  std::string why_over_;
};

}  // namespace heaptap::remote
