// What each command of heaptap-target needs before it begins: words for the terminal, the agent, the way to the host.
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

// One line on the terminal, unless it is to be quiet.
void say(const Options& options, const std::string& line);
// An error, at all events.
void complain(const std::string& line);
// A line of the log of who asked for what: at all events, unless it would have to wait for whoever reads that. What is left out is
// counted in the next one.
void log(const std::string& line);
// What became of the line. Who was refused is said at all events, unless it would have to wait for whoever reads that.
void tell(const Options& options, const remote::LineNews& news);

remote::TargetOptions target_options(const Options& options);
// For people who look for a target.
std::string program_of(const remote::RecordOrder& order);
// Of what waits for the host.
size_t buffer_bytes(const Options& options);
// How hosts prove who they are.
base::Result<channel::Security> security_of(const Options& options);
// Hosts come here.
base::Result<std::unique_ptr<remote::ConnectionSource>> listen(const Options& options,
                                                               const channel::Security& security,
                                                               Announcement& announcement);
// This one goes there: to the address that is said, or to what is announced by that name, or without one by any host.
base::Result<std::unique_ptr<remote::ConnectionSource>> go_to(const Options& options,
                                                              const channel::Security& security);

}  // namespace heaptap::target
