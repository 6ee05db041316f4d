// The static heaptap loads no libraries: one of this machine's would bring this machine's C library with it, beside another one that the
// program already has. So libdw doesn't find libdebuginfod, and names of users and hosts are looked up by what glibc has itself: files and
// DNS, no matter what /etc/nsswitch.conf says.
#include <nss.h>

#include <initializer_list>

// NOLINTBEGIN(readability-identifier-naming,readability-named-parameter,misc-use-internal-linkage): these are the C library's names
extern "C" {

void* dlopen(const char*, int) { return nullptr; }
void* dlsym(void*, const char*) { return nullptr; }
int dlclose(void*) { return 0; }
char* dlerror() {
  static char text[] = "a static program loads no libraries";
  return text;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-named-parameter,misc-use-internal-linkage)

namespace {

__attribute__((constructor)) void look_up_without_modules() {
  for (const char* const database : {"passwd", "group", "initgroups", "services", "protocols", "networks"}) {
    (void)__nss_configure_lookup(database, "files");
  }
  (void)__nss_configure_lookup("hosts", "files dns");
}

}  // namespace
