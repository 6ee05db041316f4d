#include "process/page_touch.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/signals_blocked.h"

namespace heaptap::process {
namespace {

// Each of them that doesn't come back waits in the kernel.
constexpr unsigned kMaxGivenUp = 4;

bool is_page_read(int memory, uint64_t address) {
  uint8_t byte = 0;
  ssize_t got = -1;
  do {
    got = pread(memory, &byte, sizeof(byte), static_cast<off_t>(address));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(byte);
}

}  // namespace

// What both threads know. It lives as long as either.
struct PageTouch::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const base::UniqueFd> memory;  // null: nothing is wanted
  uint64_t address = 0;
  bool is_done = false;
  bool is_there = false;
  bool ends = false;
  std::shared_ptr<std::atomic<unsigned>> given_up;  // counts it, where it was

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ends || memory != nullptr; });
      if (ends) break;
      const std::shared_ptr<const base::UniqueFd> file = std::exchange(memory, nullptr);
      const uint64_t at = address;
      lock.unlock();
      const bool was_read = is_page_read(file->get(), at);
      lock.lock();
      is_there = was_read;
      is_done = true;
      changed.notify_all();
    }
    if (given_up) given_up->fetch_sub(1, std::memory_order_relaxed);
  }
};

PageTouch::~PageTouch() { give_up(); }

// It ends once it comes back.
void PageTouch::give_up() {
  if (worker_ == nullptr) return;
  const std::scoped_lock lock(worker_->mutex);
  worker_->ends = true;
  worker_->changed.notify_all();
}

PageTouch::Outcome PageTouch::touch(const std::shared_ptr<const base::UniqueFd>& memory, uint64_t address) {
  if (given_up_->load(std::memory_order_relaxed) >= kMaxGivenUp) return Outcome::kGivenUp;
  if (worker_ == nullptr) {
    auto worker = std::make_shared<Worker>();
    try {
      const base::SignalsBlocked blocked;
      std::thread([worker] { worker->run(); }).detach();
    } catch (const std::system_error&) {
      return Outcome::kGivenUp;  // no more threads: nor is it known that nobody waits
    }
    worker_ = std::move(worker);
  }
  std::unique_lock lock(worker_->mutex);
  worker_->memory = memory;
  worker_->address = address;
  worker_->is_done = false;
  worker_->changed.notify_all();
  if (worker_->changed.wait_for(lock, longest_, [this] { return worker_->is_done; })) {
    return worker_->is_there ? Outcome::kThere : Outcome::kNone;
  }
  given_up_->fetch_add(1, std::memory_order_relaxed);
  worker_->given_up = given_up_;
  lock.unlock();
  give_up();
  worker_ = nullptr;
  return Outcome::kGivenUp;
}

}  // namespace heaptap::process
