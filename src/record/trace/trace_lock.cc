#include "record/trace/trace_lock.h"

#include <fcntl.h>
#include <unistd.h>

namespace heaptap::trace {
namespace {

// A lock of the whole file, owned by the open file and not by the process: fcntl(2), "Open file description locks".
struct flock lock_of_kind(short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

void hold_as_writer(int descriptor) {
  struct flock lock = lock_of_kind(F_WRLCK);
  (void)fcntl(descriptor, F_OFD_SETLK, &lock);
}

bool is_being_written(int descriptor) {
  struct flock lock = lock_of_kind(F_RDLCK);
  return fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

}  // namespace heaptap::trace
