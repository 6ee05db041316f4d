// Allocations from frames of all shapes that a compiler makes. Before each it prints its size and the return addresses that the compiler's
// own unwinder finds there, from the caller of allocate() on: what a recorded stack has to be.
#include <alloca.h>
#include <unwind.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

size_t g_size = 1000;  // of the next block: no other has it
volatile double g_number = 1.5;

struct Walk {
  unsigned skipped = 0;
};

_Unwind_Reason_Code print_frame(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  constexpr unsigned kOwn = 2;  // print_stack's frame and allocate's
  const auto address = static_cast<uintptr_t>(_Unwind_GetIP(context));
  if (walk->skipped < kOwn) {
    ++walk->skipped;
  } else if (address != 0) {
    std::printf(" %lx", static_cast<unsigned long>(address));
  }
  return _URC_NO_REASON;
}

__attribute__((noinline)) void print_stack(size_t size) {
  Walk walk;
  std::printf("%zu:", size);
  _Unwind_Backtrace(&print_frame, &walk);
  std::puts("");
}

__attribute__((noinline)) void* allocate() {
  const size_t size = ++g_size;
  print_stack(size);
  void* const block = std::malloc(size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

__attribute__((noinline)) int plain(int number) {
  allocate();
  return number + 1;
}

__attribute__((noinline)) int large_frame(int number) {
  char bytes[5000];
  std::memset(bytes, number, sizeof(bytes));
  __asm__ volatile("" : : "r"(bytes) : "memory");
  return plain(number) + bytes[number];
}

__attribute__((noinline)) int dynamic_frame(int number) {
  char* bytes = static_cast<char*>(alloca(static_cast<size_t>(number) * 16 + 8));
  std::memset(bytes, number, static_cast<size_t>(number) * 16 + 8);
  __asm__ volatile("" : : "r"(bytes) : "memory");
  return plain(number) + bytes[0] + large_frame(number) + bytes[1];
}

__attribute__((noinline)) int variadic_frame(int count, ...) {
  va_list rest;
  va_start(rest, count);
  int sum = plain(count);
  for (int i = 0; i < count; ++i) sum += va_arg(rest, int);
  va_end(rest);
  return sum;
}

__attribute__((noinline)) double floating_frame(double number) {
  const double a = number * g_number;
  const double b = a + g_number;
  const double c = b * number;
  const int inner = plain(3);
  return a + b + c + inner + g_number;
}

__attribute__((noinline)) int recursive(int depth, int a, int b, int c) {
  if (depth == 0) return plain(a) + b + c;
  return recursive(depth - 1, a + depth, b - depth, c ^ depth) + a * b + c;
}

__attribute__((noinline)) int aligned_frame(int number) {
  alignas(64) char bytes[128];
  std::memset(bytes, number, sizeof(bytes));
  __asm__ volatile("" : : "r"(bytes) : "memory");
  return plain(number) + bytes[5];
}

int compare(const void* a, const void* b) {
  allocate();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

struct Base {
  virtual ~Base() = default;
  virtual int call(int number) = 0;
};
struct Derived : Base {
  explicit Derived(Base* inner) : inner_(inner) {}
  ~Derived() override { plain(7); }
  int call(int number) override { return (inner_ != nullptr ? inner_->call(number) : dynamic_frame(number)) + 1; }

 private:
  Base* inner_;
};

__attribute__((noinline)) int thrower(int number) {
  Derived unwound(nullptr);
  if (number > 2) throw number;
  return unwound.call(number);
}

__attribute__((noinline)) int catcher(int number) {
  try {
    return thrower(number);
  } catch (int caught) {
    return plain(caught) + variadic_frame(3, 1, 2, 3);
  }
}

int run(int number) {
  int sum = plain(number) + large_frame(number) + dynamic_frame(number) + aligned_frame(number);
  sum += variadic_frame(2, number, number) + static_cast<int>(floating_frame(number));
  sum += recursive(number * 5, 1, 2, 3);
  int numbers[6] = {6, 3, 5, 1, 2, 4};
  std::qsort(numbers, 6, sizeof(int), &compare);
  Derived inner(nullptr);
  Derived outer(&inner);
  return sum + outer.call(number) + catcher(number);
}

}  // namespace

int main() {
  int sum = 0;
  for (int i = 1; i <= 4; ++i) sum += run(i);
  std::thread([&sum] { sum += run(5); }).join();
  return sum == 0 ? 1 : 0;
}
