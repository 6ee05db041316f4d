/* Calls each function of the API once, with arguments that can be told apart; prints what the functions gave. */
#include <heaptap/heaptap.h>

#include <stdio.h>

static int evaluated;
static const char* name(const char* text) {
  evaluated++;
  return text;
}

int main(void) {
  static char place[4];
  heaptap_scan_counts counts = HEAPTAP_SCAN_COUNTS;
  heaptap_pool pool;
  heaptap_resource files;
  int report, scan;
  heaptap_disable();
  heaptap_enable();
  heaptap_mark(name("start"));
  heaptap_push_tag(name("request"));
  heaptap_pop_tag();
  report = heaptap_report(name("report.memlog"));
  scan = heaptap_scan(&counts);
  pool = heaptap_pool_create(name("arena"));
  heaptap_allocated(pool, place, 100);
  heaptap_reallocated(pool, place, place + 1, 200);
  heaptap_released(pool, place + 1);
  heaptap_pool_destroy(pool);
  heaptap_name_block(place + 2, name("table"));
  files = heaptap_resource_create(name("files"));
  heaptap_opened(files, 3, 4096);
  heaptap_closed(files, 3);
  printf("version %d recording %d report %d scan %d pool %d files %d found %d evaluated %d\n", heaptap_api_version(),
         heaptap_is_recording(), report, scan, (int)pool, (int)files, (int)counts.definite_blocks, evaluated);
  return 0;
}
