#include "common/base/process_file.h"

namespace heaptap::base {

std::string process_file(pid_t process, std::string_view name) {
  return std::string("/proc/").append(std::to_string(process)).append(1, '/').append(name);
}

}  // namespace heaptap::base
