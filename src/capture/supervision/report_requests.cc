#include "capture/supervision/report_requests.h"

#include <fmt/format.h>

#include <utility>

#include "capture/supervision/trace_half.h"
#include "common/base/stop_signals.h"

namespace heaptap::supervision {

ReportRequests::ReportRequests(RecordedProcesses& processes, ReportWriter* writer)
    : processes_(processes), writer_(writer), seen_(base::stop_signals::report_requests()) {}

// The process counts its signals in the log: any other number is a request, whatever the process writes. Without a
// report signal it requests nothing.
bool ReportRequests::is_wanted(RecordedProcess& process) const {
  // Without a log here the other machine sends the count.
  const bool is_counted = process.log_half != nullptr && processes_.options().log.report_signal != 0;
  if (!is_counted) return process.is_report_wanted;
  const uint32_t counted = process.log_half->log().header().report_requests.load(std::memory_order_relaxed);
  if (std::exchange(process.report_requests_seen, counted) != counted) process.is_report_wanted = true;
  return process.is_report_wanted;
}

void ReportRequests::serve() {
  if (writer_ == nullptr) return;
  if (processes_.empty()) return;  // the request waits for the first one
  const int counted = base::stop_signals::report_requests();
  const bool of_all = std::exchange(seen_, counted) != counted;
  for (RecordedProcess& process : processes_.all()) {
    if (of_all) process.is_report_wanted = true;
    if (is_wanted(process) && !writer_->is_busy(process.pid)) write(process);
  }
}

void ReportRequests::serve_last(RecordedProcess& process) {
  if (writer_ == nullptr) return;
  if (is_wanted(process)) write(process);
  writer_->end(process.pid, process.image);
}

void ReportRequests::request(RecordedProcess& process, base::UniqueFd output, ReportAnswer answer) {
  if (writer_ != nullptr) return write(process, std::move(output), std::move(answer));
  if (answer) answer({});
}

void ReportRequests::request_counts(RecordedProcess& process, uint32_t scan, ReportAnswer answer) {
  if (writer_ == nullptr) return answer({});
  ReportRequest request = request_of(process, process.recording->write_up_to_now());
  request.scan = scan;
  request.answer = std::move(answer);
  writer_->write(std::move(request));
}

ReportRequest ReportRequests::request_of(RecordedProcess& process, base::Result<> written) {
  const TraceHalf& trace = *process.trace_half;
  return {.process = process.pid,
          .image = process.image,
          .trace_path = trace.path(),
          .trace = trace.open_trace(),
          .trace_bytes = process.recording->figures().trace_bytes,
          .written = std::move(written)};
}

void ReportRequests::write(RecordedProcess& process, base::UniqueFd output, ReportAnswer answer) {
  if (!output) process.is_report_wanted = false;
  if (BlackBox* const box = process.trace_half->black_box()) {
    const auto kept = box->keep(fmt::format("request {}", ++process.reports));
    if (answer) answer({.is_done = kept.has_value()});
    return;
  }
  auto written =
      process.trace_half->write_up_to_mark(model::MarkKind::kNamed, fmt::format("report {}", ++process.reports));
  ReportRequest request = request_of(process, std::move(written));
  request.output = std::move(output);
  request.answer = std::move(answer);
  writer_->write(std::move(request));
}

}  // namespace heaptap::supervision
