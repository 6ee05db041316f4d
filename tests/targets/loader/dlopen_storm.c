// One thread loads and unloads plugins while others allocate.
// LINK -ldl -pthread
// USES plugin_a plugin_b
// EXPECT stack function=malloc caller=churn allocations=60000 frees=60000 live_blocks=0
// EXPECT stack function=malloc caller=allocate_in_plugin_a allocations=200 frees=200
// EXPECT stack function=malloc caller=allocate_in_plugin_b allocations=200 frees=200
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

NOINLINE void churn(void) {
  for (int i = 0; i < 20000; i++) free(keep(malloc(32)));
}
static void* churner(void* unused) {
  churn();
  return unused;
}
static void use_plugin(const char* directory, const char* name) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/lib%s.so", directory, name);
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(plugin);
  void* (*entry)(size_t) = (void* (*)(size_t))dlsym(plugin, "plugin_entry");
  free(entry(8));
  dlclose(plugin);
}
int main(void) {
  char directory[PATH_MAX] = "";
  REQUIRE(readlink("/proc/self/exe", directory, sizeof directory - 1) > 0);
  *strrchr(directory, '/') = 0;
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) REQUIRE(pthread_create(&threads[i], NULL, churner, NULL) == 0);
  for (int i = 0; i < 200; i++) {
    use_plugin(directory, "plugin_a");
    use_plugin(directory, "plugin_b");
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  say("done\n");
  return 0;
}
