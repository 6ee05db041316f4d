// Both ends of a connection between two machines, in one thread, over a UNIX socket in a temporary directory.
#pragma once
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/uplink/line_to_host.h"
#include "record/remote/line_to_target.h"

namespace heaptap::test {

class OwnDirectory {
 public:
  OwnDirectory() { std::filesystem::create_directory(path_); }
  ~OwnDirectory() { std::filesystem::remove_all(path_); }
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static std::string next_name() {
    static std::atomic<int> number;
    return "heaptap-ends-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  }
  std::string path_ = std::filesystem::temp_directory_path() / next_name();
};

struct TwoEnds {
  static constexpr size_t kKeptBytes = size_t{1} << 20;

  explicit TwoEnds(const std::string& directory) : TwoEnds(*channel::Address::of_file(directory + "/line")) {}

  // Runs until the condition holds; false: it doesn't.
  bool run_until(const std::function<bool()>& is_so) {
    constexpr std::chrono::seconds kHangs{60};
    const auto until = std::chrono::steady_clock::now() + kHangs;
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > until) return false;
      proceed();
    }
    return true;
  }
  void proceed() {
    const auto now = std::chrono::steady_clock::now();
    host.proceed(now);
    target.proceed(now);
  }
  bool meet() {
    return run_until([this] { return host.link().is_up() && target.link().is_up(); });
  }

  uplink::LineToHost target;  // target's end
  remote::LineToTarget host;  // host's end

 private:
  explicit TwoEnds(const channel::Address& address)
      : target(std::make_unique<uplink::Acceptor>(*channel::Listener::listen(address, {}, {})), kKeptBytes),
        host("far", {address}, {}) {}
};

}  // namespace heaptap::test
