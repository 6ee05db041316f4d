// A server in small, which tells heaptap what it is doing: phases are marks, what a request allocates carries tags, and memory that
// it hands out of an arena of its own is a pool. It runs the same without heaptap.
//   c++ -I PREFIX/include requests.cc -o requests && heaptap run ./requests 100
#include <heaptap/heaptap.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// Memory of one request, given back at once.
class Arena {
 public:
  explicit Arena(size_t size_bytes)
      : begin_(static_cast<char*>(std::malloc(size_bytes))), end_(begin_ + size_bytes), next_(begin_) {}
  ~Arena() { std::free(begin_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t size_bytes) {
    size_bytes = (size_bytes + 15) & ~size_t{15};
    if (size_bytes > static_cast<size_t>(end_ - next_)) return nullptr;
    void* const block = next_;
    next_ += size_bytes;
    pool_.allocated(block, size_bytes);
    return block;
  }

 private:
  heaptap::pool pool_{"request arena"};  // destroying it releases what is in it
  char* begin_;
  char* end_;
  char* next_;
};

struct Session {
  int user;
  char name[44];
};

using Table = std::map<int, std::string>;

__attribute__((noinline)) static Table* load(int count) {
  const heaptap::tag tag("load");
  auto* const table = new Table;
  for (int i = 0; i < count; ++i) (*table)[i] = "value " + std::to_string(i) + std::string(40, '.');
  heaptap::name_block(table, "table of values");
  return table;
}

__attribute__((noinline)) static std::vector<char*> parse(Arena& arena, const char* text) {
  const heaptap::tag tag("parse");
  std::vector<char*> words;
  for (size_t length; *text != '\0'; text += length) {
    text += std::strspn(text, " ");
    length = std::strcspn(text, " ");
    auto* const word = static_cast<char*>(arena.allocate(length + 1));
    if (word == nullptr) break;
    std::memcpy(word, text, length);
    word[length] = '\0';
    words.push_back(word);
  }
  return words;
}

// Every tenth session is lost: the error that is to be found.
__attribute__((noinline)) static size_t answer(const Table& table, const std::vector<char*>& words, int request) {
  const heaptap::tag tag("answer");
  auto* const session = static_cast<Session*>(std::calloc(1, sizeof(Session)));
  session->user = request;
  std::snprintf(session->name, sizeof(session->name), "%s", words.back());
  const size_t length =
      std::string(table.at(request % static_cast<int>(table.size()))).size() + std::strlen(session->name);
  if (request % 10 != 0) std::free(session);
  return length;
}

__attribute__((noinline)) static size_t serve(const Table& table, int request) {
  const heaptap::tag tag("request");
  Arena arena(4096);
  return answer(table, parse(arena, "get the value of a number"), request);
}

static void scan() {
  heaptap_scan_counts counts;
  const int error = heaptap::scan(counts);
  if (error != 0) {
    std::printf("no scan: %s\n", std::strerror(error));
  } else {
    std::printf("lost: %llu bytes in %llu blocks\n", static_cast<unsigned long long>(counts.definite_bytes),
                static_cast<unsigned long long>(counts.definite_blocks));
  }
}

int main(int count, char** arguments) {
  const int requests = count > 1 ? std::atoi(arguments[1]) : 100;
  const char* const report = count > 2 ? arguments[2] : nullptr;  // a file for a report in between

  heaptap::mark("loading");
  Table* const table = load(50);
  heaptap::mark("serving");
  size_t total = 0;
  for (int i = 0; i < requests; ++i) total += serve(*table, i);
  heaptap::mark("served");

  std::printf("%zu characters for %d requests\n", total, requests);
  if (report != nullptr) {
    const int error = heaptap::report(report);
    if (error != 0) std::printf("no report: %s\n", std::strerror(error));
  }
  scan();
  delete table;
  return 0;
}
