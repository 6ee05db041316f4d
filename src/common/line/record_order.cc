#include "common/line/record_order.h"

#include "common/base/whole_number.h"
#include "common/line/line_messages.h"
#include "common/model/signal_number.h"

namespace heaptap::line {
namespace {

using message::Fields;

std::vector<std::string> texts_of(const Fields& fields, Field field) {
  const auto found = fields.texts(field);
  return {found.begin(), found.end()};
}

bool flag_of(const Fields& fields, Field field) { return fields.number_or_0(field) != 0; }

}  // namespace

Fields encode(const RecordOrder& order) {
  Fields fields;
  for (const std::string& argument : order.command) fields.add(Field::kArgument, argument);
  for (const std::string& variable : order.environment) fields.add(Field::kEnvironment, variable);
  for (const std::string& object : order.omit) fields.add(Field::kOmit, object);
  for (const pid_t process : order.processes) fields.add(Field::kEntry, std::to_string(process));
  if (!order.user.empty()) fields.add(Field::kUser, order.user);
  if (!order.via.empty()) fields.add(Field::kVia, order.via);
  fields.add(Field::kFollowsFork, order.follow_fork);
  fields.add(Field::kFollowsExec, order.follow_exec);
  fields.add(Field::kNoCpp, order.no_cpp);
  fields.add(Field::kScansAtEnd, order.leak_scan);
  fields.add(Field::kDropsOnOverflow, order.drop_on_overflow);
  fields.add(Field::kDepth, order.depth);
  fields.add(Field::kReleaseStacks, static_cast<uint64_t>(order.release_stacks));
  fields.add(Field::kLogBytes, order.log_memory_bytes);
  fields.add(Field::kReportSignal, static_cast<uint64_t>(order.report_signal));
  fields.add(Field::kFetches, order.fetches);
  fields.add(Field::kCompression, static_cast<uint64_t>(order.compression));
  return fields;
}

base::Result<RecordOrder> decode_order(const Fields& fields) {
  RecordOrder order;
  order.command = texts_of(fields, Field::kArgument);
  order.environment = texts_of(fields, Field::kEnvironment);
  order.omit = texts_of(fields, Field::kOmit);
  for (const std::string& text : texts_of(fields, Field::kEntry)) {
    const auto process = base::whole_number<pid_t>(text);
    if (!process || *process <= 0) return base::fail_as(base::ErrorKind::kUsage, "'{}' is not a PID", text);
    order.processes.push_back(*process);
  }
  order.user = fields.text_or_empty(Field::kUser);
  order.via = fields.text_or_empty(Field::kVia);
  order.follow_fork = flag_of(fields, Field::kFollowsFork);
  order.follow_exec = flag_of(fields, Field::kFollowsExec);
  order.no_cpp = flag_of(fields, Field::kNoCpp);
  order.leak_scan = flag_of(fields, Field::kScansAtEnd);
  order.drop_on_overflow = flag_of(fields, Field::kDropsOnOverflow);
  order.depth = fields.small_number(Field::kDepth);
  const uint64_t release_stacks = fields.number_or_0(Field::kReleaseStacks);
  if (release_stacks >= wire::kReleaseStacksCount) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown part {} of release stacks", release_stacks);
  }
  order.release_stacks = static_cast<wire::ReleaseStacks>(release_stacks);
  order.log_memory_bytes = fields.number_or_0(Field::kLogBytes);
  const uint64_t signal = fields.number_or_0(Field::kReportSignal);
  if (signal > model::kMaxSignal) return base::fail_as(base::ErrorKind::kUsage, "unknown signal {}", signal);
  order.report_signal = static_cast<int>(signal);
  order.fetches = flag_of(fields, Field::kFetches);
  const uint64_t compression = fields.number_or_0(Field::kCompression);
  if (compression >= kCompressionNames.size()) {
    return base::fail_as(base::ErrorKind::kUsage, "unknown compression mode {}", compression);
  }
  order.compression = static_cast<Compression>(compression);
  if (order.command.empty() && order.processes.empty()) {
    return base::fail_as(base::ErrorKind::kUsage, "nothing to record: expected a program or processes");
  }
  if (!order.via.empty() && order.via != "agent" && order.via != "ptrace") {
    return base::fail_as(base::ErrorKind::kUsage, "unknown capture method '{}': use agent or ptrace", order.via);
  }
  return order;
}

}  // namespace heaptap::line
