/* Loads the library that it is told, where it doesn't call the API itself; its status is what plugin() gave. */
#include <dlfcn.h>

int main(int count, char** arguments) {
  int (*plugin)(void);
  void* library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : 0;
  if (library == 0) return 98;
  *(void**)&plugin = dlsym(library, "plugin");
  return plugin();
}
