// Calls of allocation functions that bypass the agent's hooks, detected from the imports and exports of a process's objects.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace heaptap::stream {

class PastHooks {
 public:
  PastHooks();

  // Adds the next object of the process, in the loader's search order; its file is read in the process's view.
  // Unreadable ones are ignored.
  void add(pid_t process, const std::string& path);

  [[nodiscard]] bool any() const { return !inner_caller_.empty() || !called_.empty(); }
  // The first object that calls the C library's functions by their internal names (__libc_malloc, __libc_free, …); empty: none known.
  [[nodiscard]] const std::string& inner_caller() const { return inner_caller_; }
  // The library that provides malloc, and other names under which objects call it (mallocx, its own strdup, …). No
  // names: only its standard functions are called.
  [[nodiscard]] const std::string& allocator() const { return allocator_; }
  [[nodiscard]] const std::vector<std::string>& called() const { return called_; }

 private:
  enum class Allocator : uint8_t {
    kNotSeen,
    kLibrary,
    kOther,  // the C library's, or the program's own, which is detected separately
  };
  void list_called();
  void decide_allocator(const std::string& path, bool is_program, const std::vector<bool>& defined);

  std::string inner_caller_;
  bool has_program_ = false;  // the first object
  Allocator decided_ = Allocator::kNotSeen;
  std::string allocator_;
  std::vector<bool> needed_;   // by any object; these vectors are indexed by position in the list of names
  std::vector<bool> defined_;  // by the allocator
  std::vector<std::string> called_;
};

}  // namespace heaptap::stream
