// A block that only the frame of a suspended coroutine holds; when its handle is lost, so are both.
// COMPILE -std=c++20 -fcoroutines
// RUN held
// RUN dropped
#include "leak.h"

#include <coroutine>
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
static void* volatile box;
static void fill_box() {
  box = malloc(32);  // LEAK held: reachable 1 32; dropped: indirect 1 32
}
Task body() {
  void* volatile local = box;
  box = nullptr;
  co_await std::suspend_always{};
  keep(local);
}  // LEAK held: reachable 1 *; dropped: definite 1 *
static void* volatile handle;
NOINLINE static void start() { handle = body().handle.address(); }
int main(int count, char** arguments) {
  fill_box();
  start();
  if (said(arguments, "dropped")) handle = nullptr;
  forget_registers();
  return 0;
}
