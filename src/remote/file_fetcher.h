// Files of modules that this machine doesn't have, from the machine where they are mapped: which are wanted, and what comes of them.
// One piece is asked for at a time, and events come first. Knows no sockets, no clock and no file; trusts nothing of what comes.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/message.h"
#include "model/tables.h"

namespace heaptap::remote {

// Who keeps files: one after the other, each begun, written, and then finished or dropped.
class FileTaker {
 public:
  FileTaker() = default;
  FileTaker(const FileTaker&) = delete;
  FileTaker& operator=(const FileTaker&) = delete;
  virtual ~FileTaker() = default;

  // It isn't here, by its build-id.
  virtual bool lacks(const model::Module& module) = 0;
  virtual base::Result<> begin(const std::string& build_id) = 0;
  virtual base::Result<> write(std::string_view bytes) = 0;
  // An error: what came is another file.
  virtual base::Result<> finish() = 0;
  virtual void drop() = 0;
};

struct FetchLimits {
  uint64_t file_bytes = uint64_t{64} << 20;
  uint64_t all_bytes = uint64_t{512} << 20;
};

// One that didn't come.
struct NotFetched {
  std::string path;  // as the other machine has it
  std::string why;
};

class FileFetcher {
 public:
  // The taker outlives it.
  FileFetcher(FileTaker& taker, FetchLimits limits) : taker_(taker), limits_(limits) {}

  // Modules of a stream, of which the first has this number.
  void add(uint64_t stream, uint64_t first, std::span<const model::Module> modules);
  // What is to be sent now; none: nothing is, or an answer is awaited.
  std::optional<control::Message> next_message();
  // An answer.
  void take(const control::Fields& piece);
  // What hasn't come won't.
  void give_up(const std::string& why);

  [[nodiscard]] bool is_done() const { return wanted_.empty(); }
  // That is fetched now; empty: none is.
  [[nodiscard]] std::string path() const { return wanted_.empty() ? std::string() : wanted_.front().module.path; }
  [[nodiscard]] uint64_t done_bytes() const { return done_bytes_; }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }  // 0: not known yet
  [[nodiscard]] size_t files_left() const { return wanted_.size(); }
  [[nodiscard]] uint64_t received_bytes() const { return received_bytes_; }
  // The first of those that didn't come, and how many there are.
  [[nodiscard]] const std::vector<NotFetched>& not_fetched() const { return not_fetched_; }
  [[nodiscard]] size_t not_fetched_count() const { return not_fetched_count_; }

 private:
  struct Wanted {
    uint64_t stream;
    uint64_t number;
    model::Module module;
  };

  base::Result<> take_piece(const control::Fields& piece);
  void settle(uint64_t stream, uint64_t number);
  void fail(std::string why);
  void end_file();

  FileTaker& taker_;
  const FetchLimits limits_;
  std::set<std::string> seen_;            // build-ids
  std::deque<Wanted> wanted_;             // the first one is under way
  std::deque<control::Message> settled_;  // to be told
  bool is_asked_ = false;                 // and not answered
  bool is_begun_ = false;                 // the taker has it
  uint64_t done_bytes_ = 0;               // of the first one
  uint64_t file_bytes_ = 0;
  uint64_t received_bytes_ = 0;  // of all
  std::vector<NotFetched> not_fetched_;
  size_t not_fetched_count_ = 0;
};

}  // namespace heaptap::remote
