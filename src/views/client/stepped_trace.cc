#include "views/client/stepped_trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace heaptap::client {
base::Result<std::unique_ptr<SteppedTrace>> SteppedTrace::open(base::UniqueFd file, query::Query counts) {
  auto reader = trace::TraceReader::open(base::path_of(file));
  if (!reader) return std::unexpected(std::move(reader).error());
  return std::unique_ptr<SteppedTrace>(new SteppedTrace(std::move(file), *std::move(reader), std::move(counts)));
}

base::Result<> SteppedTrace::advance(uint64_t bytes) {
  for (uint64_t before = ~uint64_t{0}; reader_.followed_bytes() < bytes && reader_.followed_bytes() != before;) {
    before = reader_.followed_bytes();
    HEAPTAP_TRY(reader_.follow(analysis_, {.pause_after_bytes = bytes - before}));
  }
  return {};
}

base::Result<bool> SteppedTrace::advance_some(uint64_t bytes, uint64_t end) {
  const uint64_t before = reader_.followed_bytes();
  HEAPTAP_TRY(reader_.follow(analysis_, {.pause_after_bytes = bytes}));
  const uint64_t after = reader_.followed_bytes();
  return after != before && after < end;
}

uint64_t SteppedTrace::file_bytes() const {
  struct stat facts{};
  return fstat(file_.get(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
}

base::Result<report::Report> SteppedTrace::report(const query::Query& query) {
  if (analysis_.can_answer(query)) return analysis_.glance(query);
  auto reader = trace::TraceReader::open(path());
  if (!reader) return std::unexpected(std::move(reader).error());
  return query::analyze(*reader, query);
}

std::string SteppedTrace::path() const { return base::path_of(file_); }

}  // namespace heaptap::client
