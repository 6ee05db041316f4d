// The screen of `heaptap top` over a recording that is made up: animate_top [crash|throw|end AFTER SAMPLES].
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "made_up_recording.h"
#include "views/top/session.h"

namespace {

class Animation : public heaptap::test::MadeUpRecording {
 public:
  Animation(std::string_view how, int after) : how_(how), after_(after) {
    heaptap::test::make_gate(*this);
    for (int i = 0; i < 40; ++i) {
      stacks.push_back({.frames = {fmt::format("handler_{}(int)", i), "serve(int)", "main"},
                        .count = {.allocations = 10,
                                  .allocated_bytes = 5000,
                                  .live_blocks = 10,
                                  .live_bytes = 5000u - 100u * static_cast<unsigned>(i)}});
    }
  }

  void tick() override {
    ++ticks_;
    heaptap::test::go_on(*this);
    stacks[0].count.live_bytes = static_cast<uint64_t>(1'500'000 + 400'000 * std::sin(ticks_ / 3.0));
    totals.live_bytes = static_cast<uint64_t>(3'000'000 + 1'200'000 * std::sin(ticks_ / 5.0));
    totals.allocations += static_cast<uint64_t>(900 * (1 + std::sin(ticks_)));
    now.log_used_bytes = static_cast<uint64_t>(ticks_ % 8);
    if (ticks_ != after_) return;
    if (how_ == "crash") std::abort();
    if (how_ == "throw") throw std::runtime_error("the reader failed");
    if (how_ == "end") news.push_back({.kind = heaptap::client::News::Kind::kConnectionLost});
  }

 private:
  std::string_view how_;
  int after_;
  int ticks_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 2 ? argv[1] : "";
  const int after = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto ending =
      heaptap::top::run_on_screen(std::make_unique<Animation>(how, after), {.delay_ns = 100'000'000, .color = true});
  if (!ending) {
    fmt::print(stderr, "{}\n", ending.error().message);
    return 1;
  }
  fmt::print("signal {}\n", ending->signal.value_or(0));
  return 0;
}
