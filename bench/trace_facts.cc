// trace_facts TRACE: contents of a trace and the time to read it in stages, as JSON on stdout: decoding alone, decoding with
// addresses, decoding and ledger. No symbols are resolved.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <set>

#include "analysis/ledger/ledger.h"
#include "record/trace/trace_reader.h"

namespace {

using namespace heaptap;

class Counter : public trace::EventSink {
 public:
  void on_batch(const model::EventBatch& batch, const model::Tables&) override { events += batch.events.size(); }
  uint64_t events = 0;
};

class LedgerFeeder : public trace::EventSink {
 public:
  explicit LedgerFeeder(ledger::Ledger& ledger) : ledger_(ledger) {}
  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override { ledger_.add(batch, tables); }

 private:
  ledger::Ledger& ledger_;
};

double seconds_of(trace::TraceReader& reader, trace::EventSink& sink, bool addresses) {
  const auto start = std::chrono::steady_clock::now();
  const auto replayed = reader.replay(sink, {.addresses = addresses, .progress = {}});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return replayed ? elapsed.count() : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} TRACE\n", argv[0]);
    return 2;
  }
  auto reader = trace::TraceReader::open(argv[1]);
  if (!reader) {
    fmt::print(stderr, "trace_facts: {}\n", reader.error().message);
    return 1;
  }
  Counter counter;
  const double decode_s = seconds_of(*reader, counter, false);
  Counter with_addresses;
  const double decode_addresses_s = seconds_of(*reader, with_addresses, true);
  ledger::Ledger ledger({.time_resolution_ns = reader->capture().time_resolution_ns});
  LedgerFeeder feeder(ledger);
  const double ledger_s = seconds_of(*reader, feeder, false);
  const model::Tables& tables = reader->tables();
  fmt::print(
      "{{\"events\": {}, \"frames\": {}, \"codes\": {}, \"sites\": {}, \"decode_s\": {}, \"decode_addresses_s\": {}, "
      "\"ledger_s\": {}, \"allocations\": {}, \"releases\": {}}}\n",
      counter.events, tables.stacks.size(), tables.codes.size(), tables.sites.size(), decode_s, decode_addresses_s,
      ledger_s, ledger.totals().allocations, ledger.totals().releases);
  return 0;
}
