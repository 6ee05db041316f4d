/* A library that is loaded while the program runs, and calls the API. */
#include <heaptap/heaptap.h>

int plugin(void) {
  heaptap_mark("from the plugin");
  return heaptap_api_version();
}
