// Common setup of heaptap-target's commands: terminal output, the agent, the connection to the host.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "channel/security.h"
#include "heaptap_target/announcement.h"
#include "heaptap_target/command_line.h"
#include "remote/connection_source.h"
#include "remote/record_order.h"
#include "remote/target_session.h"

namespace heaptap::target {

// Prints a line on the terminal, unless quiet.
void say(const Options& options, const std::string& line);
// Prints an error, even if quiet.
void complain(const std::string& line);
// Prints a line of the access log, even if quiet, unless writing would block. Omitted lines are counted in the next
// one.
void log(const std::string& line);
// Prints news of the line. Rejected peers are reported even if quiet, unless writing would block.
void tell(const Options& options, const remote::LineNews& news);

remote::TargetOptions target_options(const Options& options);
// Program name for display in discovery.
std::string program_of(const remote::RecordOrder& order);
// Size of the queue for the host.
size_t buffer_bytes(const Options& options);
// Authentication of hosts.
base::Result<channel::Security> security_of(const Options& options);
// Hosts connect here.
base::Result<std::unique_ptr<remote::ConnectionSource>> listen(const Options& options,
                                                               const channel::Security& security,
                                                               Announcement& announcement);
// This side connects: to the given address, to a host announced by that name, or without a name to any announced host.
base::Result<std::unique_ptr<remote::ConnectionSource>> go_to(const Options& options,
                                                              const channel::Security& security);

}  // namespace heaptap::target
