#include "apps/heaptap/commands/row_finder.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "analysis/symbol_server/rows.h"
#include "analysis/symbols/frame_bytes.h"
#include "analysis/symbols/function_places.h"
#include "common/base/signals_blocked.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {
namespace {

class RowFinder : public remote::RowFinder {
 public:
  RowFinder(symbols::ResolverOptions options, std::shared_ptr<SymbolsServer> server, base::UniqueFd event)
      : options_(std::move(options)), server_(std::move(server)), event_(std::move(event)) {
    const base::SignalsBlocked signals;  // for the recording thread
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }

  void find(Request request) override {
    const std::scoped_lock lock(mutex_);
    if (requests_.size() < kMaxRequests) requests_.push_back(std::move(request));
    changed_.notify_one();
  }

  std::optional<Found> next_found() override {
    const std::scoped_lock lock(mutex_);
    uint64_t rung = 0;
    if (found_.empty()) {
      (void)!read(event_.get(), &rung, sizeof(rung));
      return std::nullopt;
    }
    Found first = std::move(found_.front());
    found_.pop_front();
    return first;
  }

  [[nodiscard]] int descriptor() const override { return event_.get(); }

 private:
  static constexpr size_t kMaxRequests = 1024;

  void work(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !requests_.empty(); })) return;
      const Request request = std::move(requests_.front());
      requests_.pop_front();
      lock.unlock();
      Found found = std::visit([this](const auto& each) -> Found { return answer(each); }, request);
      lock.lock();
      found_.push_back(std::move(found));
      const uint64_t one = 1;
      (void)!write(event_.get(), &one, sizeof(one));
    }
  }

  [[nodiscard]] remote::FoundRows answer(const remote::RowRequest& request) const {
    return {.build_id = request.build_id, .rows = rows_of(request)};
  }

  [[nodiscard]] line::FoundFunctions answer(const line::FunctionRequest& request) const {
    return {.build_id = request.build_id,
            .functions = symbols::find_functions(options_, request.path, request.build_id, request.names)};
  }

  [[nodiscard]] model::RowTable rows_of(const remote::RowRequest& request) const {
    symbols::ResolverOptions options = options_;
    options.debuginfod = options.debuginfod && request.address.has_value();  // fetches only what is needed
    model::RowTable rows;
    if (const auto frames = symbols::find_frame_bytes(options, request.path, request.build_id)) {
      rows = symbol_server::rows_of(*frames, request.address);
    }
    if (rows.empty() && server_ != nullptr) rows = server_->rows_of(request.build_id, request.address);
    return rows;
  }

  const symbols::ResolverOptions options_;
  const std::shared_ptr<SymbolsServer> server_;
  base::UniqueFd event_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Request> requests_;
  std::deque<Found> found_;
  std::jthread thread_;  // ended first
};

}  // namespace

std::unique_ptr<remote::RowFinder> make_row_finder(symbols::ResolverOptions options,
                                                   std::shared_ptr<SymbolsServer> server) {
  base::UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return nullptr;
  return std::make_unique<RowFinder>(std::move(options), std::move(server), std::move(event));
}

}  // namespace heaptap::app
