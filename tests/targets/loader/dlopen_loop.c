// Two plugins are loaded and unloaded in turns, mostly at the same address; each stack names the right one.
// LINK -ldl
// USES plugin_a plugin_b
// EXPECT stack function=malloc path=allocate_in_plugin_a<plugin_entry<use_plugin allocations=60 frees=0 allocated_bytes=600
// EXPECT stack function=malloc path=allocate_in_plugin_b<plugin_entry<use_plugin allocations=60 frees=60 allocated_bytes=1200
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>

static char directory[PATH_MAX];

NOINLINE void* use_plugin(const char* name, size_t size) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/lib%s.so", directory, name);
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) say("%s\n", dlerror());
  REQUIRE(plugin);
  void* (*entry)(size_t) = (void* (*)(size_t))dlsym(plugin, "plugin_entry");
  REQUIRE(entry);
  void* block = entry(size);
  REQUIRE(dlclose(plugin) == 0);
  return block;
}

int main(void) {
  ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
  REQUIRE(length > 0);
  *strrchr(directory, '/') = 0;
  for (int i = 0; i < 60; i++) {
    use_plugin("plugin_a", 10);
    free(use_plugin("plugin_b", 20));
  }
  say("done\n");
  return 0;
}
