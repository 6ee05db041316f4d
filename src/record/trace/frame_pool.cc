#include "record/trace/frame_pool.h"

#include <algorithm>
#include <utility>

#include "common/base/signals_blocked.h"

namespace heaptap::trace {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;  // columns and zstd's tables are on the heap
constexpr size_t kMaxSpare = 192;                  // batches

}  // namespace

SiteView SharedSites::view(const std::vector<model::Site>& sites) {
  if (sites.size() > capacity_) {
    constexpr size_t kLeast = 1024;
    const size_t capacity = std::max({kLeast, 2 * capacity_, sites.size()});
    auto larger = std::make_shared<model::Site[]>(capacity);
    std::copy_n(sites.begin(), sites.size(), larger.get());
    sites_ = std::move(larger);
    capacity_ = capacity;
  } else {
    // Behind what anyone else reads.
    std::copy(sites.begin() + static_cast<std::ptrdiff_t>(count_), sites.end(), sites_.get() + count_);
  }
  count_ = sites.size();
  return {sites_, count_};
}

// With room for what workers give back: none of them may fail.
FramePool::FramePool(unsigned threads) : max_workers_(threads > 1 ? threads - 1 : 0) {
  if (max_workers_ == 0) return;
  spare_.reserve(kMaxSpare);
  writers_.reserve(max_workers_ + 2);
}

FramePool::~FramePool() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  work_.notify_all();
  for (const pthread_t worker : workers_) pthread_join(worker, nullptr);
}

std::shared_ptr<FramePool::Frame> FramePool::begin() {
  if (max_workers_ == 0) return nullptr;
  Lock lock(mutex_);
  // One frame may wait, so that a thread that ends one finds the next.
  const auto has_time = [this] { return !workers_.empty() && frames_.size() <= workers_.size(); };
  if (!has_time() && !has_all_workers_) {
    lock.unlock();
    add_worker();
    lock.lock();
  }
  if (!has_time()) return nullptr;
  auto frame = std::make_shared<Frame>();
  frame->writer_ = take_writer();
  return frames_.emplace_back(std::move(frame));
}

std::unique_ptr<EventFrameWriter> FramePool::take_writer() {
  if (writers_.empty()) return std::make_unique<EventFrameWriter>(kEventLevel);
  auto writer = std::move(writers_.back());
  writers_.pop_back();
  return writer;
}

void FramePool::add(Frame& frame, model::EventBatch& batch, SiteView sites) {
  Lock lock(mutex_);
  change_.wait(lock, [&frame] { return frame.waiting_.size() < kMaxWaiting; });
  model::EventBatch next;
  if (!spare_.empty()) {
    next = std::move(spare_.back());
    spare_.pop_back();
  }
  frame.waiting_.push_back({std::exchange(batch, std::move(next)), std::move(sites)});
  if (idle_workers_ > 0 && frame.is_worth_work()) work_.notify_one();
}

void FramePool::end(Frame& frame, uint64_t resolution_ns) {
  const std::scoped_lock lock(mutex_);
  frame.resolution_ns_ = resolution_ns;
  frame.has_ended_ = true;
  if (idle_workers_ > 0 && frame.is_worth_work()) work_.notify_one();
}

void FramePool::wait_for(Frame& frame) {
  Lock lock(mutex_);
  while (!frame.is_made()) {
    if (const auto next = next_frame()) {
      work_on(*next, lock);
    } else {
      change_.wait(lock);
    }
  }
}

void FramePool::abandon(Frame& frame) {
  const std::scoped_lock lock(mutex_);
  frame.waiting_.clear();
  frame.is_abandoned_ = true;
  if (!frame.is_at_work_) forget(frame);
}

void FramePool::start(std::function<void()> call) {
  const std::scoped_lock lock(mutex_);
  call_ = std::move(call);
  call_state_ = CallState::kWaits;
  if (idle_workers_ > 0) work_.notify_one();
}

void FramePool::join() {
  Lock lock(mutex_);
  if (call_state_ == CallState::kNone) return;
  if (call_state_ == CallState::kWaits) make_call(lock);
  change_.wait(lock, [this] { return call_state_ == CallState::kEnded; });
  call_state_ = CallState::kNone;
  if (call_failure_) std::rethrow_exception(std::exchange(call_failure_, nullptr));
}

void FramePool::make_call(Lock& lock) {
  call_state_ = CallState::kRuns;
  lock.unlock();
  std::exception_ptr failure;
  try {
    call_();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  call_failure_ = failure;
  call_state_ = CallState::kEnded;
  change_.notify_one();
}

// A thread that can't be created (RLIMIT_NPROC, a cgroup's limit) isn't needed.
void FramePool::add_worker() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  workers_.reserve(max_workers_);
  pthread_t worker{};
  const base::SignalsBlocked signals;  // for the supervising thread
  if (pthread_create(&worker, &attributes, run_worker, this) == 0) {
    workers_.push_back(worker);
    has_all_workers_ = workers_.size() == max_workers_;
  } else {
    has_all_workers_ = true;
  }
  pthread_attr_destroy(&attributes);
}

void* FramePool::run_worker(void* pool) {
  pthread_setname_np(pthread_self(), kThreadName);
  static_cast<FramePool*>(pool)->work();
  return nullptr;
}

void FramePool::work() {
  Lock lock(mutex_);
  while (!stops_) {
    if (call_state_ == CallState::kWaits) {
      make_call(lock);  // the caller will wait for it
    } else if (const auto frame = next_frame()) {
      work_on(*frame, lock);
    } else {
      ++idle_workers_;
      work_.wait(lock);
      --idle_workers_;
    }
  }
}

// The oldest: the file waits for it.
std::shared_ptr<FramePool::Frame> FramePool::next_frame() const {
  const auto next = std::ranges::find_if(frames_, [](const auto& frame) { return frame->is_worth_work(); });
  return next == frames_.end() ? nullptr : *next;
}

// Work on what waits now; on all of it, if that is the rest.
void FramePool::work_on(Frame& frame, Lock& lock) {
  std::vector<Frame::Piece> pieces = std::exchange(frame.waiting_, {});
  const bool is_last = frame.has_ended_;
  frame.is_at_work_ = true;
  lock.unlock();
  change_.notify_one();  // there is room
  frame.make(pieces, is_last);
  lock.lock();
  frame.is_at_work_ = false;
  for (Frame::Piece& piece : pieces) {
    if (spare_.size() == kMaxSpare) break;
    piece.batch.clear();
    spare_.push_back(std::move(piece.batch));
  }
  if (!is_last && !frame.is_abandoned_) return;
  if (is_last && !frame.failure_) writers_.push_back(std::move(frame.writer_));
  frame.is_made_.store(true, std::memory_order_release);
  forget(frame);
  change_.notify_one();
}

void FramePool::forget(const Frame& frame) {
  std::erase_if(frames_, [&frame](const auto& each) { return each.get() == &frame; });
}

// The rest of a frame that failed is left out.
void FramePool::Frame::make(std::vector<Piece>& pieces, bool is_last) {
  if (failure_) return;
  try {
    for (const Piece& piece : pieces) writer_->add(piece.batch, {piece.sites.sites.get(), piece.sites.count});
    if (!is_last) return;
    const frames::ByteBuffer& made = writer_->finish(resolution_ns_);
    payload_.assign(made.data(), made.data() + made.size());
  } catch (...) {
    failure_ = std::current_exception();
  }
}

}  // namespace heaptap::trace
