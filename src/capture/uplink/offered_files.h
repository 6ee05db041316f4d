// Files of modules mapped by recorded processes, on the target's machine, offered to a host that lacks them. The host
// identifies a file by the number of its module in the process's stream, never by a path. Each is opened when its module
// becomes known, and stays open until the host has declined it or finished, since the process may be gone by then.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "capture/stream/module_file.h"
#include "common/base/result.h"
#include "common/line/line_messages.h"
#include "common/message/message.h"
#include "common/model/tables.h"

namespace heaptap::uplink {

// Bytes of a file sent at once.
inline constexpr size_t kFilePieceBytes = size_t{128} << 10;

class OfferedFiles {
 public:
  // For a recording: whether its host requests files (a future host may), and whether this side provides any.
  void begin(bool is_wanted, bool is_allowed) {
    is_wanted_ = is_wanted && is_allowed;
    is_forbidden_ = !is_allowed;
  }
  // For a new host.
  void end();

  // Adds a process's modules; `first` is the number of the first one in its stream.
  void add(uint64_t stream, uint64_t first, pid_t process, std::span<const model::Module> modules);

  // Handles kFileWanted and kFileSettled; false: another kind.
  bool take(const message::Message& message);
  // The next answer to a request, in turn; none: no request.
  std::optional<line::FilePiece> answer();
  [[nodiscard]] bool is_asked() const { return wanted_.has_value(); }

 private:
  struct Offer {
    pid_t process = 0;
    model::Module module;
  };
  using Place = std::pair<uint64_t, uint64_t>;  // stream, number in it
  const stream::PiecewiseFile* open(const Offer& offer);
  base::Result<> fill_in(line::FilePiece& answer);

  bool is_forbidden_ = false;
  bool is_wanted_ = false;
  std::map<Place, Offer> offers_;
  std::map<std::string, stream::PiecewiseFile> open_;  // by build-id
  std::set<std::string> settled_;                      // build-ids
  std::optional<line::FileWanted> wanted_;
};

}  // namespace heaptap::uplink
