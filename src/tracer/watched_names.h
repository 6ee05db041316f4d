// The names under which a tracer finds what it watches, for a target's word size.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/loaded_objects.h"
#include "wire/functions.h"

namespace heaptap::tracer {

struct WatchedName {
  // What the symbol tells besides a function.
  enum class Mark : uint8_t {
    kNone,
    kChangeNotice,  // the loader calls it when objects come and go
    kLoaderList,    // r_debug
    kLoaderListPointer,
    kLibcStart,   // only a C library defines it
    kGlibc,       // only this one does
    kExceptions,  // it allocates what is thrown
  };
  std::string symbol;
  Watch watch = Watch::kCall;
  wire::Function function = wire::Function::kNone;
  Mark mark = Mark::kNone;
  Spoken spoken = Spoken::kNone;
  Form form = Form::kPlain;  // others count in an object that has a malloc of its own

  // C++ operators have no second meaning; a function called free may have.
  [[nodiscard]] bool is_operator() const { return symbol.starts_with("_Zn") || symbol.starts_with("_Zd"); }
  // Another machine's word is enough for what is looked at alone: not for data, nor where the tracer does something to the program.
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
