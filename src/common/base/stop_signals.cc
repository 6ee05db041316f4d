#include "common/base/stop_signals.h"

#include <atomic>
#include <csignal>
#include <iterator>
#include <utility>

namespace heaptap::base::stop_signals {
namespace {

std::atomic<pid_t> g_forward_to{0};
std::atomic<int> g_requests{0};
std::atomic<int> g_last_request{0};
std::atomic<int> g_requests_by_processes{0};
std::atomic<int> g_report_requests{0};
struct sigaction g_report_action{};  // dispositions that heaptap was started with
bool g_takes_reports = false;
constexpr int kTaken[] = {SIGPIPE, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
struct sigaction g_before[std::size(kTaken)]{};  // likewise
bool g_has_taken = false;

void take_signal(int number, siginfo_t* facts, void* /*context*/) {
  const pid_t program = g_forward_to.load(std::memory_order_relaxed);
  if (program > 0) {
    kill(program, number);
  } else {
    if (facts->si_code != SI_KERNEL) g_requests_by_processes.fetch_add(1, std::memory_order_relaxed);
    g_last_request.store(number, std::memory_order_relaxed);
    g_requests.fetch_add(1, std::memory_order_relaxed);
  }
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, nullptr);
}

void take(int number) {
  struct sigaction action{};
  action.sa_sigaction = take_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(number, &action, nullptr);
}

// A signal ignored at the start, as with nohup, stays ignored.
bool is_ignored(int number) {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void let_report_requests_in() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  (void)pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

}  // namespace

void forward_to(pid_t program) {
  for (size_t i = 0; !g_has_taken && i < std::size(kTaken); ++i) (void)sigaction(kTaken[i], nullptr, &g_before[i]);
  g_has_taken = true;
  static const bool stays_at_hangup = is_ignored(SIGHUP);
  g_forward_to.store(program, std::memory_order_relaxed);
  if (g_takes_reports) let_report_requests_in();  // the program, which has the original dispositions, exists by now
  set_handler(SIGPIPE, SIG_IGN);
  take(SIGTERM);
  if (program > 0 || !stays_at_hangup) take(SIGHUP);
  for (const int number : {SIGINT, SIGQUIT}) {
    if (program > 0) {
      set_handler(number, SIG_IGN);
    } else {
      take(number);
    }
  }
}

void take_report_requests() {
  if (!std::exchange(g_takes_reports, true)) (void)sigaction(SIGUSR1, nullptr, &g_report_action);
  set_handler(SIGUSR1, [](int) { g_report_requests.fetch_add(1, std::memory_order_relaxed); });
}

int report_requests() { return g_report_requests.load(std::memory_order_relaxed); }

void give_back() {
  for (size_t i = 0; g_has_taken && i < std::size(kTaken); ++i) (void)sigaction(kTaken[i], &g_before[i], nullptr);
  if (g_takes_reports) (void)sigaction(SIGUSR1, &g_report_action, nullptr);
}

void ignore_all() {
  for (const int number : {SIGPIPE, SIGTERM, SIGHUP, SIGINT, SIGQUIT}) set_handler(number, SIG_IGN);
  if (g_takes_reports) let_report_requests_in();
}

int requests_by_processes() { return g_requests_by_processes.load(std::memory_order_relaxed); }

int last_request() { return g_last_request.load(std::memory_order_relaxed); }

int requests() { return g_requests.load(std::memory_order_relaxed); }

}  // namespace heaptap::base::stop_signals
