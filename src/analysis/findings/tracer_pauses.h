// Pauses of a program recorded by ptrace: its threads stop at each call of an allocation function.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/model/capture.h"

namespace heaptap::findings {

// Share of the time in which the tracer paused a thread of the program, from 0 to 1. None: unknown, or no time has passed.
std::optional<double> paused_share(std::optional<uint64_t> paused_ns, uint64_t time_ns);

// Whether the pauses may change what a recording is about: a queue grows as its readers are slower.
bool pauses_matter(std::optional<uint64_t> paused_ns, uint64_t time_ns);

// "1.2 s, 31% of the time"; none if unknown.
std::optional<std::string> pauses_text(std::optional<uint64_t> paused_ns, uint64_t time_ns);

// A sentence about a finished recording, without full stop; empty: the pauses don't matter, or are unknown.
std::string pauses_sentence(const model::Capture& capture);

}  // namespace heaptap::findings
