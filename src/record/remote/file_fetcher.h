// Fetching of module files that this machine lacks from the machine where they are mapped: bookkeeping of requests and results.
// Requests one piece at a time, with lower priority than events. Independent of sockets, clock and files; trusts no received data.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/line/line_messages.h"
#include "common/message/message.h"
#include "common/model/tables.h"

namespace heaptap::remote {

// Receiver of files: one after the other, each begun, written, and then finished or dropped.
class FileTaker {
 public:
  FileTaker() = default;
  FileTaker(const FileTaker&) = delete;
  FileTaker& operator=(const FileTaker&) = delete;
  virtual ~FileTaker() = default;

  // Whether it is missing here, by its build-id.
  virtual bool lacks(const model::Module& module) = 0;
  virtual base::Result<> begin(const std::string& build_id) = 0;
  virtual base::Result<> write(std::string_view bytes) = 0;
  // Error: another file was received.
  virtual base::Result<> finish() = 0;
  virtual void drop() = 0;
};

struct FetchLimits {
  uint64_t file_bytes = uint64_t{64} << 20;
  uint64_t all_bytes = uint64_t{512} << 20;
};

// File that couldn't be fetched.
struct NotFetched {
  std::string path;  // on the other machine
  std::string why;
};

class FileFetcher {
 public:
  // The taker must outlive it.
  FileFetcher(FileTaker& taker, FetchLimits limits) : taker_(taker), limits_(limits) {}

  // Modules of a stream; `first` is the number of the first one.
  void add(uint64_t stream, uint64_t first, std::span<const model::Module> modules);
  // The next message to send; none: nothing to send, or an answer is pending.
  std::optional<message::Message> next_message();
  // Processes an answer.
  void take(const message::Fields& fields);
  // Cancels all outstanding files.
  void give_up(const std::string& why);

  [[nodiscard]] bool is_done() const { return wanted_.empty(); }
  // File being fetched; empty: none.
  [[nodiscard]] std::string path() const { return wanted_.empty() ? std::string() : wanted_.front().module.path; }
  [[nodiscard]] uint64_t done_bytes() const { return done_bytes_; }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }  // 0: unknown yet
  [[nodiscard]] size_t files_left() const { return wanted_.size(); }
  [[nodiscard]] uint64_t received_bytes() const { return received_bytes_; }
  // Files that couldn't be fetched.
  [[nodiscard]] const std::vector<NotFetched>& not_fetched() const { return not_fetched_; }
  [[nodiscard]] size_t not_fetched_count() const { return not_fetched_count_; }

 private:
  struct Wanted {
    uint64_t stream;
    uint64_t number;
    model::Module module;
  };

  base::Result<> take_piece(const line::FilePiece& piece);
  void settle(uint64_t stream, uint64_t number);
  void fail(std::string why);
  void end_file();

  FileTaker& taker_;
  const FetchLimits limits_;
  std::set<std::string> seen_;            // build-ids
  std::deque<Wanted> wanted_;             // the first one is being fetched
  std::deque<message::Message> settled_;  // to be reported
  bool is_asked_ = false;                 // a request is unanswered
  bool is_begun_ = false;                 // the taker has it
  uint64_t done_bytes_ = 0;               // of the current one
  uint64_t file_bytes_ = 0;
  uint64_t received_bytes_ = 0;  // total
  std::vector<NotFetched> not_fetched_;
  size_t not_fetched_count_ = 0;
};

}  // namespace heaptap::remote
