// What hosts may ask for, and what they asked for, in a line of a log.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "remote/record_order.h"

namespace heaptap::remote {

struct OrderPolicy {
  bool attach_only = false;               // no program is started
  std::vector<std::string> allowed = {};  // files of programs: no others are started or attached to; empty: all
  bool has_user = false;                  // whom programs run as was settled here

  [[nodiscard]] base::Result<> check(const RecordOrder& order) const;

 private:
  [[nodiscard]] base::Result<> check_program(const RecordOrder& order) const;
  [[nodiscard]] bool allows_file(const std::string& path) const;
};

// "runs /usr/bin/program --its-option as user 1000", "attaches to 812 (program)".
std::string text_of(const RecordOrder& order);

}  // namespace heaptap::remote
