// Calls of allocation functions that no hook of the agent is in front of: told by what a process's objects need and define.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace heaptap::collect {

class PastHooks {
 public:
  PastHooks();

  // The next object of the process, in the order in which its loader looks for functions; its file is read as the process sees it.
  // One that can't be read tells nothing.
  void add(pid_t process, const std::string& path);

  [[nodiscard]] bool any() const { return !inner_caller_.empty() || !called_.empty(); }
  // The first object that calls the C library's functions by their inner names (__libc_malloc, __libc_free, …); empty: none is known.
  [[nodiscard]] const std::string& inner_caller() const { return inner_caller_; }
  // The library that malloc comes from, and the other names under which objects call it (mallocx, a strdup of its own, …). No names: its
  // functions of usual names are all that is called.
  [[nodiscard]] const std::string& allocator() const { return allocator_; }
  [[nodiscard]] const std::vector<std::string>& called() const { return called_; }

 private:
  enum class Allocator : uint8_t {
    kNotSeen,
    kLibrary,
    kOther,  // the C library's, or the program's own, which is told apart
  };
  void list_called();
  void decide_allocator(const std::string& path, bool is_program, const std::vector<bool>& defined);

  std::string inner_caller_;
  bool has_program_ = false;  // it is the first one
  Allocator decided_ = Allocator::kNotSeen;
  std::string allocator_;
  std::vector<bool> needed_;   // by any object; as all of these by the place in the list of names
  std::vector<bool> defined_;  // by the allocator
  std::vector<std::string> called_;
};

}  // namespace heaptap::collect
