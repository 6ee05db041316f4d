// Coroutines: their frames are allocated, and what their bodies allocate has the stack of the one who resumes.
// COMPILE -std=c++20 -fcoroutines
// EXPECT stack function=malloc caller=in_body through=resume_all allocations=500 allocated_bytes=5000
// EXPECT stack function="operator new" through=start_all allocations=5 frees=5
#include "target.h"

#include <coroutine>
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
NOINLINE void in_body() { keep(malloc(10)); }
Task body(int rounds) {
  for (int i = 0; i < rounds; i++) {
    in_body();
    co_await std::suspend_always{};
  }
}
static Task tasks[5];
NOINLINE void start_all() {
  for (auto& task : tasks) task = body(100);
}
NOINLINE void resume_all() {
  for (int i = 0; i < 101; i++)
    for (auto& task : tasks) task.handle.resume();
}
int main() {
  start_all();
  resume_all();
  for (auto& task : tasks) task.handle.destroy();
  say("done\n");
  return 0;
}
