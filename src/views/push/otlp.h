// Request of OTLP/HTTP with a program's profiles, as OpenTelemetry's protocol has it since version 1.10: v1development, which it calls
// alpha. Before that the fields of a sample had other numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "views/exports/formats.h"
#include "views/push/labels.h"

namespace heaptap::push {

struct ProfileTime {
  uint64_t unix_ns = 0;
  uint64_t duration_ns = 0;  // of what was allocated
};

// Gzipped; empty: there is nothing to be said. A profile for each type of the report's numbers that is known.
std::string make_otlp(const exports::Input& input, const Labels& labels, const ProfileTime& time);

// Why a server that answered with 200 rejects profiles nevertheless, by that answer's body (ExportProfilesServiceResponse). Empty: it doesn't.
std::string rejection_in(std::string_view answer);

}  // namespace heaptap::push
