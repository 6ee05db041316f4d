// Tells where its functions are, in lines "NAME ADDRESS", and waits. For each byte that it reads then: loads the library that
// it was given, unloads it, …, and tells "done 0".
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TELL(name) printf(#name " %#lx\n", (unsigned long)(uintptr_t)&name)

int main(int count, char** arguments) {
  TELL(malloc);
  TELL(calloc);
  TELL(realloc);
  TELL(free);
  TELL(posix_memalign);
  TELL(aligned_alloc);
  TELL(memalign);
  TELL(mmap);
  TELL(mmap64);
  TELL(munmap);
  TELL(mremap);
  printf("done 0\n");
  fflush(stdout);
  void* library = NULL;
  for (char byte; read(0, &byte, 1) == 1;) {
#ifdef LOADS
    if (library == NULL) {
      library = dlopen(arguments[count - 1], RTLD_NOW);
    } else {
      dlclose(library);
      library = NULL;
    }
#endif
    printf("done 0\n");
    fflush(stdout);
  }
  return count < 0 || library != NULL || arguments == NULL;
}
