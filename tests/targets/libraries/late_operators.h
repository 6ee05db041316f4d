// Common part of the libraries of tests/targets/late_*.c: they use the C++ operators, and some define them.
#pragma once
#include <stddef.h>
#include <stdlib.h>

extern const char* late_definer;  // the program's: who defines the operator that was called last
void* _Znwm(size_t bytes);
void* _Znam(size_t bytes);
void _ZdlPv(void* block);
void _ZdaPv(void* block);

#define LATE_USES(name, tell)                                              \
  void name##_uses(void (*tell)(const char* user, const char* function)) { \
    void* block = _Znwm(24);                                               \
    tell(#name, "_Znwm");                                                  \
    _ZdlPv(block);                                                         \
    tell(#name, "_ZdlPv");                                                 \
    block = _Znam(32);                                                     \
    tell(#name, "_Znam");                                                  \
    _ZdaPv(block);                                                         \
    tell(#name, "_ZdaPv");                                                 \
  }                                                                        \
  void name##_churns(int rounds) {                                         \
    for (int i = 0; i < rounds; i++) {                                     \
      void* volatile block = _Znwm(24);                                    \
      _ZdlPv(block);                                                       \
    }                                                                      \
  }

// Blocks that only these operators can release: free() would end the program.
#define LATE_DEFINES(name)                                    \
  void* _Znwm(size_t bytes) {                                 \
    size_t* block = malloc(bytes + 16);                       \
    block[1] = 0x6c617465;                                    \
    late_definer = #name;                                     \
    return block + 2;                                         \
  }                                                           \
  void _ZdlPv(void* block) {                                  \
    if (block && ((size_t*)block)[-1] != 0x6c617465) abort(); \
    late_definer = #name;                                     \
    if (block) free((size_t*)block - 2);                      \
  }
