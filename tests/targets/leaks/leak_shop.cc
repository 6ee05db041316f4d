// A program with all that the views of a leak scan tell apart: what a global variable holds, what is lost, a list that is lost.
// COMPILE -O1
#include "leak.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Order {
  virtual ~Order() = default;
  std::string customer;
  std::vector<int> items;
};

static auto& orders = *new std::map<int, std::unique_ptr<Order>>;
char* banner;

NOINLINE static void take_order(int number) {
  auto& order = orders[number];
  order = std::make_unique<Order>();
  order->customer = "customer number " + std::to_string(number);
  order->items.resize(static_cast<size_t>(100 * number));
}

NOINLINE static void print_receipt(int number) {
  char* text = static_cast<char*>(std::malloc(64));  // LEAK definite 2 128
  std::snprintf(text, 64, "receipt of order %d", number);
  std::puts(text);
  if (number % 2 == 0) std::free(text);  // every other one is forgotten
}

struct Seat {
  Seat* next;
  char name[24];
};

NOINLINE static Seat* reserve(int count) {
  Seat* first = nullptr;
  for (int i = 0; i < count; ++i) first = new Seat{first, {}};  // LEAK definite 1 32/28, indirect 2 64/56
  return first;
}

NOINLINE static void use_seats() { std::printf("a seat: \"%s\"\n", reserve(3)->name); }

int main() {
  banner = strdup("welcome");
  for (int i = 1; i <= 4; ++i) take_order(i);
  for (int i = 1; i <= 4; ++i) print_receipt(i);
  use_seats();
  forget_registers();
}
