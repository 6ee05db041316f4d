// Messages about files that don't respond (network file systems), and about threads that wait for them.
#pragma once
#include <string>

#include "capture/supervision/kernel_waits.h"
#include "capture/supervision/tracer_source.h"
#include "common/base/served_files.h"

namespace heaptap::target {

std::string text_of(const base::SilentFile& file, base::ServedFiles::Stage stage);
std::string text_of(const supervision::StandingThread& thread);
// Empty: not about a wait of the tracer.
std::string text_of(const supervision::TracingNews& news);
// Of a file for which an abandoned thread of this process still waits at the process's end.
std::string text_at_end(const base::SilentFile& file);

}  // namespace heaptap::target
