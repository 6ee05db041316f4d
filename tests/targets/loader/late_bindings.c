// A program without the C++ library loads libraries that use its operators and define some. Each gets those that the loader would
// have bound it to (tests/e2e/late_bindings_test.py asks the loader itself).
// LINK -rdynamic -ldl
// USES late_plain late_other late_replacing late_global late_needing
// ENV LD_LIBRARY_PATH=@TARGETS@
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT errors.length == 0
// EXPECT stack caller=_Znwm allocations=0
// EXPECT stack function="operator new" live_blocks=0
// EXPECT stack function="operator new[]" live_blocks=0
// RUN plain
// RUN needing
// RUN plain needing
// RUN needing plain
// RUN replacing plain needing
// RUN +global plain
// RUN plain +global other needing
// RUN needing +global plain
// RUN @needing plain
// EXPECT capture.complete == 0
// RUN plain -plain needing -needing plain
// RUN !needing !plain !other
// RUN +needing plain
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <sys/wait.h>

const char* late_definer;
static void tell(const char* user, const char* function) {
  say("%s %s %s\n", user, function, late_definer);
  late_definer = "libstdc++";
}
// Before the name: + for all to see, @ its own objects first, ! bound at once, - closed again.
static void use(void* handle, const char* name) {
  char function[100];
  snprintf(function, sizeof function, "late_%s_uses", name);
  void (*uses)(void (*)(const char*, const char*)) = dlsym(handle, function);
  REQUIRE(uses != NULL);
  uses(tell);
}
int main(int count, char** arguments) {
  static void* handles[20];
  late_definer = "libstdc++";
  for (int i = 1; i < count; i++) {
    const char* name = arguments[i];
    char file[100];
    int mode = RTLD_LAZY;
    if (*name == '-') {
      for (int other = i - 1; other > 0; other--) {
        if (!handles[other] || strcmp(arguments[other] + strspn(arguments[other], "+@!"), name + 1)) continue;
        REQUIRE(dlclose(handles[other]) == 0);
        handles[other] = NULL;
        break;
      }
      continue;
    }
    if (*name == '+') mode |= RTLD_GLOBAL, name++;
    if (*name == '@') mode |= RTLD_DEEPBIND, name++;
    if (*name == '!') mode = RTLD_NOW, name++;
    snprintf(file, sizeof file, "liblate_%s.so", name);
    handles[i] = dlopen(file, mode);
    REQUIRE(handles[i] != NULL);
    use(handles[i], name);
    use(handles[i], name);
  }
  int child = fork(), status = 0;  // which isn't recorded
  for (int i = 1; child == 0 && i < count; i++) {
    if (handles[i]) use(handles[i], arguments[i] + strspn(arguments[i], "+@!"));
  }
  if (child == 0) _exit(7);
  REQUIRE(waitpid(child, &status, 0) == child && status == 7 << 8);
  return 0;
}
