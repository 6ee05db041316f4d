// Common setup of heaptap-target's commands: terminal output, the agent, the connection to the host.
#pragma once
#include <memory>
#include <string>

#include "apps/target/announcement.h"
#include "apps/target/command_line.h"
#include "capture/uplink/connection_source.h"
#include "capture/uplink/target_session.h"
#include "common/base/result.h"
#include "common/channel/security.h"
#include "common/line/record_order.h"

namespace heaptap::target {

// Prints a line on the terminal, unless quiet.
void say(const Options& options, const std::string& line);
// Prints an error, even if quiet.
void complain(const std::string& line);
// Prints a warning, even if quiet, unless writing would block: nothing that is recorded waits for who reads it. Thread-safe.
void warn(const std::string& line);
// Prints a line of the access log, even if quiet, unless writing would block. Omitted lines are counted in the next
// one.
void log(const std::string& line);
// Prints news of the line. Rejected peers are reported even if quiet, unless writing would block.
void tell(const Options& options, const line::LineNews& news);

uplink::TargetOptions target_options(const Options& options);
// Program name for display in discovery.
std::string program_of(const line::RecordOrder& order);
// Size of the queue for the host.
size_t buffer_bytes(const Options& options);
// Authentication of hosts.
base::Result<channel::Security> security_of(const Options& options);
// Hosts connect here.
base::Result<std::unique_ptr<uplink::ConnectionSource>> listen(const Options& options,
                                                               const channel::Security& security,
                                                               Announcement& announcement);
// This side connects: to the given address, to a host announced by that name, or without a name to any announced host.
base::Result<std::unique_ptr<uplink::ConnectionSource>> go_to(const Options& options,
                                                              const channel::Security& security);

}  // namespace heaptap::target
