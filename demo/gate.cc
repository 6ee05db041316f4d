// A daemon that takes requests, keeps a session for each client, and loses every tenth line of its log.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

struct Session {
  std::string client;
  std::string last_request;
};

static auto& sessions = *new std::map<int, std::unique_ptr<Session>>;

[[gnu::noinline]] static char* log_line(const std::string& text) {
  char* line = new char[text.size() + 1];
  text.copy(line, text.size());
  return line;
}

[[gnu::noinline]] static void serve(int request) {
  auto session = std::make_unique<Session>();
  session->client = "a client with the number " + std::to_string(request);
  session->last_request = "request " + std::to_string(request);
  char* line = log_line(session->last_request);
  if (request % 10 != 0) delete[] line;  // every tenth one is forgotten
  sessions[request] = std::move(session);
}

int main() {
  using namespace std::chrono_literals;
  for (int request = 0;; ++request) {
    serve(request);
    std::this_thread::sleep_for(20ms);
  }
}
