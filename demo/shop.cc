// Takes orders, prints receipts, reserves seats: keeps some of its memory in a map, and loses some.
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

[[gnu::noinline]] static void take_order(int number) {
  auto& order = orders[number];
  order = std::make_unique<Order>();
  order->customer = "customer number " + std::to_string(number);
  order->items.resize(static_cast<size_t>(100 * number));
}

[[gnu::noinline]] static void print_receipt(int number) {
  char* text = static_cast<char*>(std::malloc(64));
  std::snprintf(text, 64, "receipt of order %d", number);
  std::puts(text);
  if (number % 2 == 0) std::free(text);  // every other one is forgotten
}

struct Seat {
  Seat* next;
  char name[24];
};

[[gnu::noinline]] static Seat* reserve(int count) {
  Seat* first = nullptr;
  for (int i = 0; i < count; ++i) first = new Seat{first, {}};
  return first;
}

[[gnu::noinline]] static void use_seats() {
  Seat* seats = reserve(3);
  std::printf("a seat: \"%s\"\n", seats->name);  // the whole list is lost
}

int main() {
  banner = strdup("welcome");
  for (int i = 1; i <= 4; ++i) take_order(i);
  for (int i = 1; i <= 4; ++i) print_receipt(i);
  use_seats();
  std::printf("%zu orders, %s\n", orders.size(), banner);  // also overwrites what registers still hold
}
