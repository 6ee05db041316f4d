// Body of a request that brings a program's profiles to a server: the protocol's message around files of pprof.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "views/push/destination.h"
#include "views/push/labels.h"

namespace heaptap::push {

std::string_view content_type(Protocol protocol);
// How the body is compressed; empty: it isn't, but profiles in it are.
std::string_view content_encoding(Protocol protocol);

// `profiles`: of pprof, gzipped. Not for OTLP, which has a format of its own.
std::string make_envelope(Protocol protocol, const Labels& labels, std::span<const std::string> profiles);

}  // namespace heaptap::push
