// Names of the symbols that a tracer watches, for a target's word size.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tracer/loaded_objects.h"
#include "common/wire/functions.h"

namespace heaptap::tracer {

struct WatchedName {
  // Meaning of a symbol that is no function to watch.
  enum class Mark : uint8_t {
    kNone,
    kChangeNotice,  // called by the loader when objects are loaded and unloaded
    kLoaderList,    // r_debug
    kLoaderListPointer,
    kLibcStart,   // defined only by a C library
    kGlibc,       // defined only by glibc
    kExceptions,  // allocates exceptions
  };
  std::string symbol;
  Watch watch = Watch::kCall;
  wire::Function function = wire::Function::kNone;
  Mark mark = Mark::kNone;
  ApiCall api_call = ApiCall::kNone;
  Form form = Form::kPlain;  // others count in an object with a malloc of its own

  // C++ operators are unambiguous; a function called free may be something else.
  [[nodiscard]] bool is_operator() const { return symbol.starts_with("_Zn") || symbol.starts_with("_Zd"); }
  // Whether a name from another machine may be used: for functions that are only watched; not for data, nor where the
  // tracer changes the program.
  [[nodiscard]] bool may_be_told() const;
};

class WatchedNames {
 public:
  explicit WatchedNames(unsigned word_bytes);
  WatchedNames(const WatchedNames&) = delete;
  WatchedNames& operator=(const WatchedNames&) = delete;
  [[nodiscard]] std::span<const std::string_view> symbols() const { return symbols_; }
  [[nodiscard]] const WatchedName& operator[](size_t index) const { return names_[index]; }

 private:
  std::vector<WatchedName> names_;
  std::vector<std::string_view> symbols_;  // theirs
};

}  // namespace heaptap::tracer
