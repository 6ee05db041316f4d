// Names for other tools' files: valid UTF-8 on one line, whatever the target contains.
#pragma once
#include <string>

#include "common/model/capture.h"
#include "common/model/frame.h"

namespace heaptap::exports {

// The function; if it has no name "libfoo.so+0x1234", or the address.
std::string name_of(const model::Frame& frame);
// The source file; empty if unknown.
std::string file_of(const model::Frame& frame);
std::string module_of(const model::Frame& frame);
// "0x401136: main (app.c:12)", "0x12F4: f (in /lib/libf.so)", as Valgrind's tools write a frame.
std::string valgrind_text(const model::Frame& frame);
// The command with its arguments, separated by spaces.
std::string command_of(const model::Capture& capture);

}  // namespace heaptap::exports
