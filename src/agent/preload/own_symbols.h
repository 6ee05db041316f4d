// ELF symbols of the operators on this CPU: in their names size_t is "m" (unsigned long) where words have 64 bits, as in
// common/wire/functions.def, and "j" (unsigned int) where they have 32.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/wire/functions.h"

#if __SIZEOF_SIZE_T__ == 4
#define _Znwm _Znwj  // NOLINT(*-identifier*): the names of the ABI
#define _ZnwmRKSt9nothrow_t _ZnwjRKSt9nothrow_t
#define _ZnwmSt11align_val_t _ZnwjSt11align_val_t
#define _ZnwmSt11align_val_tRKSt9nothrow_t _ZnwjSt11align_val_tRKSt9nothrow_t
#define _Znam _Znaj
#define _ZnamRKSt9nothrow_t _ZnajRKSt9nothrow_t
#define _ZnamSt11align_val_t _ZnajSt11align_val_t
#define _ZnamSt11align_val_tRKSt9nothrow_t _ZnajSt11align_val_tRKSt9nothrow_t
#define _ZdlPvm _ZdlPvj
#define _ZdlPvmSt11align_val_t _ZdlPvjSt11align_val_t
#define _ZdaPvm _ZdaPvj
#define _ZdaPvmSt11align_val_t _ZdaPvjSt11align_val_t
#endif

namespace heaptap::agent {

struct OwnSymbols {
  static constexpr size_t kNameBytes = 48;
  char names[wire::kFunctionCount][kNameBytes];

  constexpr OwnSymbols() : names{} {
    for (size_t function = 0; function < wire::kFunctionCount; ++function) {
      const char* const symbol = wire::kFunctionFacts[function].symbol;
      char* const name = names[function];
      for (size_t i = 0; symbol[i] != '\0'; ++i) name[i] = symbol[i];
      if (name[0] != '_' || name[1] != 'Z') continue;
      const size_t at = name[2] == 'n' ? 4 : 6;  // _Znwm, _ZdlPvm
      if (name[at] == 'm') name[at] = 'j';
    }
  }
};

// The function's symbol; "": it has none.
inline const char* own_symbol(wire::Function function) {
  if constexpr (sizeof(size_t) == sizeof(uint64_t)) {
    return wire::facts_of(function).symbol;
  } else {
    static constexpr OwnSymbols kSymbols;
    return kSymbols.names[static_cast<uint8_t>(function)];
  }
}

}  // namespace heaptap::agent
