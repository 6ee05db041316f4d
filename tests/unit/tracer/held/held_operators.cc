// Tells where its C++ operators are, as held.c does, and waits.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

#include <unistd.h>

namespace {

template <typename Function>
void tell(const char* name, Function* function) {
  std::printf("%s %#lx\n", name, static_cast<unsigned long>(reinterpret_cast<uintptr_t>(function)));
}

}  // namespace

int main() {
  tell<void*(std::size_t)>("kNew", &operator new);
  tell<void*(std::size_t, std::align_val_t)>("kNewAligned", &operator new);
  tell<void*(std::size_t)>("kNewArray", &operator new[]);
  tell<void(void*)>("kDelete", &operator delete);
  tell<void(void*, std::size_t)>("kDeleteSized", &operator delete);
  tell<void(void*, std::size_t, std::align_val_t)>("kDeleteArraySizedAligned", &operator delete[]);
  std::printf("done 0\n");
  std::fflush(stdout);
  char byte;
  while (read(0, &byte, 1) == 1) continue;
  return 0;
}
