// Files of modules that recorded processes have mapped, on the target's machine, for a host that doesn't have them. The host names
// one by the number of the module in its process's stream; what it says is no path. Each is opened as its module becomes known, and
// stays open until the host has said that it wants it no more, since its process may be gone by then.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/message.h"
#include "model/tables.h"

namespace heaptap::remote {

// Of a file, at once.
inline constexpr size_t kFilePieceBytes = size_t{128} << 10;

class OfferedFiles {
 public:
  // Of a recording: whether its host asks for files (one that is yet to come may), and whether this side gives any.
  void begin(bool is_wanted, bool is_allowed) {
    is_wanted_ = is_wanted && is_allowed;
    is_forbidden_ = !is_allowed;
  }
  // Of another host.
  void end();

  // A process's modules, of which the first has this number in its stream.
  void add(uint64_t stream, uint64_t first, pid_t process, std::span<const model::Module> modules);

  // kFileWanted and kFileSettled; false: it is neither.
  bool take(const control::Message& message);
  // The answer to what is wanted, and the next call's is another one's; none: nothing is.
  std::optional<control::Fields> answer();
  [[nodiscard]] bool is_asked() const { return wanted_.has_value(); }

 private:
  struct Offer {
    pid_t process = 0;
    model::Module module;
  };
  using Place = std::pair<uint64_t, uint64_t>;  // stream, number in it
  struct Wanted {
    Place place;
    uint64_t offset = 0;
  };

  const base::UniqueFd* open(const Offer& offer);
  base::Result<> fill_in(const Wanted& wanted, control::Fields& answer);

  bool is_forbidden_ = false;
  bool is_wanted_ = false;
  std::map<Place, Offer> offers_;
  std::map<std::string, base::UniqueFd> open_;  // by build-id
  std::set<std::string> settled_;               // build-ids
  std::optional<Wanted> wanted_;
};

}  // namespace heaptap::remote
