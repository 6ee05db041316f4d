// Threads of the collector that make frames of events: columns and compression, about half of what an event costs it.
// A frame needs nothing of others but the tables, so each is made by itself; who began it appends it to its file.
//
//   collector ▸ batches ▸ [frame][frame]…[frame] ▸ threads ▸ payloads ▸ collector
//
// A frame is open (more batches come), ended, or made. One thread at a time works on it, as long as batches wait; none
// waits for a frame, so those of several recordings don't get into each other's way. Threads begin when frames do that
// no other one has time for, and end with the pool: a collector that keeps up has none. All calls come from one thread,
// the collector's. They also do one other thing beside it, if one of them has time.
#pragma once
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/model/event.h"
#include "common/model/tables.h"
#include "record/trace/event_frame.h"

namespace heaptap::trace {

// Sites of a trace's tables, as far as they were when it was taken. They stay as they are while the tables grow.
struct SiteView {
  std::shared_ptr<const model::Site[]> sites;
  size_t count = 0;
};

// Copy of a trace's sites for other threads.
class SharedSites {
 public:
  SiteView view(const std::vector<model::Site>& sites);

 private:
  std::shared_ptr<model::Site[]> sites_;  // replaced by a larger one; views keep the one that they have
  size_t capacity_ = 0;
  size_t count_ = 0;
};

class FramePool {
 public:
  static constexpr char kThreadName[] = "heaptap-frames";
  static constexpr unsigned kMaxThreads = 64;

  // `threads` work at most, the calling one included.
  explicit FramePool(unsigned threads);
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  class Frame;

  // Begins a frame. Null: no thread has time for it, or none can be created.
  std::shared_ptr<Frame> begin();
  // Takes the batch, which is empty then. Waits while too many of the frame wait for their turn.
  void add(Frame& frame, model::EventBatch& batch, SiteView sites);
  // No batch follows.
  void end(Frame& frame, uint64_t resolution_ns);
  // Waits until an ended frame is made, and works as well.
  void wait_for(Frame& frame);
  // Forgets a frame that nobody wants any more.
  void abandon(Frame& frame);

  // Begins a call beside the caller. One at a time.
  void start(std::function<void()> call);
  // Waits for its end; makes the call here if no thread has begun it. Throws what it threw. No effect where none was
  // started.
  void join();

  [[nodiscard]] size_t thread_count() const { return workers_.size(); }

 private:
  // Batches that are worth waking a thread for.
  static constexpr size_t kWorthWaking = 4;
  // Those of a frame that may wait: twice as many as a frame has, unless they are small.
  static constexpr size_t kMaxWaiting = 128;

  using Lock = std::unique_lock<std::mutex>;
  void add_worker();
  static void* run_worker(void* pool);
  void work();
  [[nodiscard]] std::shared_ptr<Frame> next_frame() const;
  void work_on(Frame& frame, Lock& lock);
  void make_call(Lock& lock);
  void forget(const Frame& frame);
  std::unique_ptr<EventFrameWriter> take_writer();

  const unsigned max_workers_;
  bool has_all_workers_ = false;    // as many as are allowed, or can be created
  std::vector<pthread_t> workers_;  // used by the calling thread alone

  std::mutex mutex_;                // guards the following, and the frames
  std::condition_variable work_;    // for the workers
  std::condition_variable change_;  // for the calling thread
  unsigned idle_workers_ = 0;
  bool stops_ = false;
  std::deque<std::shared_ptr<Frame>> frames_;  // not made yet, in the order in which they began
  std::vector<std::unique_ptr<EventFrameWriter>> writers_;
  enum class CallState : uint8_t { kNone, kWaits, kRuns, kEnded };
  std::function<void()> call_;
  CallState call_state_ = CallState::kNone;
  std::exception_ptr call_failure_;
  std::vector<model::EventBatch> spare_;  // empty ones, with memory that was used lately at the end
};

class FramePool::Frame {
 public:
  // Whether payload() is there.
  [[nodiscard]] bool is_made() const { return is_made_.load(std::memory_order_acquire); }
  // Throws what was thrown while it was made.
  [[nodiscard]] std::span<const uint8_t> payload() const {
    if (failure_) std::rethrow_exception(failure_);
    return payload_;
  }

 private:
  friend class FramePool;
  struct Piece {
    model::EventBatch batch;
    SiteView sites;
  };

  [[nodiscard]] bool is_worth_work() const {
    return !is_at_work_ && (has_ended_ || waiting_.size() >= FramePool::kWorthWaking);
  }
  void make(std::vector<Piece>& pieces, bool is_last);

  std::atomic<bool> is_made_{false};  // with release: payload_ or failure_ is there
  std::vector<uint8_t> payload_;
  std::exception_ptr failure_;
  std::unique_ptr<EventFrameWriter> writer_;  // of the thread that works on it
  // Guarded by the pool's mutex.
  std::vector<Piece> waiting_;
  bool is_at_work_ = false;
  bool has_ended_ = false;
  bool is_abandoned_ = false;
  uint64_t resolution_ns_ = 1;
};

}  // namespace heaptap::trace
