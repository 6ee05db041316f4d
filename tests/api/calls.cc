// The same functions as calls.c, by the classes of C++: tags and pools end with their scope, also by an exception.
#include <heaptap/heaptap.h>

#include <cstdio>

static char place[4];

static void work(const heaptap::pool& pool) {
  const heaptap::tag outer("request");
  const heaptap::tag inner("parse");
  pool.allocated(place, 100);
  throw 1;
}

int main() {
  heaptap::disable();
  heaptap::enable();
  heaptap::mark("start");
  heaptap_scan_counts counts;
  const int report = heaptap::report("report.memlog");
  const int scan = heaptap::scan(counts);
  {
    heaptap::pool first("first");
    heaptap::pool second("second");
    first.swap(second);
    try {
      work(first);
    } catch (int) {
    }
#if __cplusplus >= 201103L
    heaptap::pool moved(static_cast<heaptap::pool&&>(first));
    second = static_cast<heaptap::pool&&>(moved);
#endif
    second.reallocated(place, place + 1, 200);
    second.released(place + 1);
    std::printf("pool %d\n", static_cast<int>(second.get()));
    std::fflush(stdout);
  }
  heaptap::name_block(place + 2, "table");
  const heaptap::resource files("files");
  files.opened(3);
  files.closed(3);
  std::printf("recording %d report %d scan %d found %d files %d\n", heaptap::is_recording() ? 1 : 0, report, scan,
              static_cast<int>(counts.definite_blocks), static_cast<int>(files.get()));
  return 0;
}
