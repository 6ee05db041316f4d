// Restrictions on hosts' recording orders, and a log line for each order.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/line/record_order.h"

namespace heaptap::uplink {

struct OrderPolicy {
  bool attach_only = false;               // starting programs is not allowed
  std::vector<std::string> allowed = {};  // executable files that may be started or attached to; empty: all
  bool has_user = false;                  // the user for programs is set here

  [[nodiscard]] base::Result<> check(const line::RecordOrder& order) const;

 private:
  [[nodiscard]] base::Result<> check_program(const line::RecordOrder& order) const;
  [[nodiscard]] bool allows_file(const std::string& path) const;
};

// "runs /usr/bin/program --its-option as user 1000", "attaches to 812 (program)".
std::string text_of(const line::RecordOrder& order);

}  // namespace heaptap::uplink
