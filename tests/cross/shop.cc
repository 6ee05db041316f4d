// What a report has to name: blocks of templates and lambdas in namespaces, made by several threads, some lost, some held, one
// released twice over as the wrong kind; in one process that ends with a status of its own.
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop {

struct Item {
  virtual ~Item() = default;
  std::string name;
  Item* next = nullptr;
};

template <typename Kind>
struct Basket {
  [[gnu::noinline]] Kind* add(const char* name) {
    auto* item = new Kind;
    item->name = std::string(name) + ", long enough for a block of its own";
    item->next = last;
    return last = item;
  }
  Kind* last = nullptr;
};

std::map<int, std::unique_ptr<Item>> kept;

[[gnu::noinline]] void lose(int customers) {
  Basket<Item> basket;
  for (int i = 0; i < customers; ++i) basket.add("lost");
}

[[gnu::noinline]] void serve(int number) {
  std::vector<std::string> bill;
  for (int i = 0; i < 500; ++i) {
    bill.push_back(std::to_string(number) + " of which a string would have to allocate memory");
    if (i % 50 == 0) bill.clear();
  }
  const std::function<void()> last_thing = [number, bill] {
    std::free(std::malloc(static_cast<size_t>(number) + bill.size()));
  };
  last_thing();
  lose(number);
}

}  // namespace shop

int main() {
  std::vector<std::thread> threads;
  for (int number = 1; number <= 4; ++number) threads.emplace_back(shop::serve, number);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 10; ++i) shop::kept[i] = std::make_unique<shop::Item>();
  int* volatile numbers = new int[100];
  std::free(numbers);
  return 3;
}
