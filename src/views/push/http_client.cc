#include "views/push/http_client.h"

#include <dlfcn.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/own_loader.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"

namespace heaptap::push {
namespace {

using base::make_error;
using Kind = Answer::Kind;

// Declarations of curl.h and multi.h, so that the build doesn't need them: their numbers are part of libcurl's ABI.
struct Easy;
struct Multi;
struct List;
struct Message {
  int kind;
  Easy* easy;
  union {
    void* whatever;
    int result;
  } data;
};
struct SocketAddress {
  int family;
  int type;
  int protocol;
  unsigned int address_bytes;
  sockaddr address;
};
using Write = size_t (*)(const char* data, size_t one, size_t count, void* to);
using OpenSocket = int (*)(void* user, int purpose, SocketAddress* address);

enum Option : int {
  kWriteTo = 10001,
  kUrl = 10002,
  kErrorBuffer = 10010,
  kBody = 10015,
  kUserAgent = 10018,
  kHeaders = 10023,
  kPost = 47,
  kTrustedFile = 10065,
  kTrustedDirectory = 10097,
  kNoSignals = 99,
  kTimeoutMs = 155,
  kNoProxy = 10177,
  kWriteFunction = 20011,
  kOpenSocketFunction = 20163,
  kBodyBytes = 30120,
  kQuickExit = 322,
};
enum Fact : int { kStatus = 0x200002, kRedirectedTo = 0x10001f };
constexpr int kGlobalDefault = 3;
constexpr int kOk = 0;
constexpr int kTimedOut = 28;
constexpr int kUntrusted = 60;
constexpr int kDone = 1;
constexpr size_t kErrorBytes = 256;

constexpr size_t kMaxKept = 1000;              // of a body
constexpr size_t kMaxRead = size_t{64} << 10;  // of any body
constexpr size_t kMaxShown = 200;              // of a body that says why not, and of another address

// Closed in programs that heaptap starts.
int open_socket(void* /*user*/, int /*purpose*/, SocketAddress* address) {
  return socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
}

bool is_later(long status) {
  constexpr std::array<long, 3> kLater{408, 425, 429};
  return status >= 500 || std::ranges::find(kLater, status) != kLater.end();
}

std::string cut(std::string_view text, size_t bytes) { return base::safe_text(text.substr(0, bytes)); }

}  // namespace

// Functions of the library, and a client of it.
struct HttpClient::Curl {
  static std::unique_ptr<Curl> load() {
    auto curl = std::make_unique<Curl>();
    for (const char* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      if (curl->library == nullptr) curl->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (curl->library == nullptr || !curl->find_functions()) return nullptr;
    return curl->begin_all(kGlobalDefault) == kOk ? std::move(curl) : nullptr;
  }
  Curl() = default;
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;
  ~Curl() {
    if (easy != nullptr) end_easy(easy);
    if (multi != nullptr) end_multi(multi);
    // The library stays: it has threads, and what it uses has functions for the process's end.
  }

  bool find_functions() {
    return find(begin_all, "curl_global_init") && find(begin_easy, "curl_easy_init") &&
           find(end_easy, "curl_easy_cleanup") && find(set, "curl_easy_setopt") && find(get, "curl_easy_getinfo") &&
           find(text_of, "curl_easy_strerror") && find(append, "curl_slist_append") &&
           find(free_list, "curl_slist_free_all") && find(begin_multi, "curl_multi_init") &&
           find(end_multi, "curl_multi_cleanup") && find(add, "curl_multi_add_handle") &&
           find(remove, "curl_multi_remove_handle") && find(perform, "curl_multi_perform") &&
           find(poll, "curl_multi_poll") && find(read, "curl_multi_info_read");
  }

  void* library = nullptr;
  int (*begin_all)(long) = nullptr;
  Easy* (*begin_easy)() = nullptr;
  void (*end_easy)(Easy*) = nullptr;
  int (*set)(Easy*, int, ...) = nullptr;
  int (*get)(Easy*, int, ...) = nullptr;
  const char* (*text_of)(int) = nullptr;
  List* (*append)(List*, const char*) = nullptr;
  void (*free_list)(List*) = nullptr;
  Multi* (*begin_multi)() = nullptr;
  int (*end_multi)(Multi*) = nullptr;
  int (*add)(Multi*, Easy*) = nullptr;
  int (*remove)(Multi*, Easy*) = nullptr;
  int (*perform)(Multi*, int*) = nullptr;
  int (*poll)(Multi*, void*, unsigned, int, int*) = nullptr;
  Message* (*read)(Multi*, int*) = nullptr;
  Easy* easy = nullptr;
  Multi* multi = nullptr;

 private:
  template <typename F>
  bool find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
  }
};

// State and answer of one request.
struct HttpClient::Reply {
  explicit Reply(const Curl& library) : curl(library) { body.reserve(kMaxKept); }  // take() may not throw
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() {
    if (headers != nullptr) curl.free_list(headers);
  }

  static size_t take(const char* data, size_t one, size_t count, void* to) {
    Reply& reply = *static_cast<Reply*>(to);
    const size_t bytes = one * count;
    reply.body.append(data, std::min(bytes, kMaxKept - reply.body.size()));
    reply.read += bytes;
    return reply.read > kMaxRead ? 0 : bytes;
  }
  void add_header(const std::string& header) {
    if (List* const longer = curl.append(headers, header.c_str()); longer != nullptr) headers = longer;
  }

  const Curl& curl;
  List* headers = nullptr;
  std::array<char, kErrorBytes> error{};
  std::string body;
  size_t read = 0;
};

base::Result<std::unique_ptr<HttpClient>> HttpClient::create(HttpOptions options) {
  if (!base::has_loader()) {
    return base::fail(
        "this heaptap is a static program, which can't load libcurl: use an installed one, or let curl send what "
        "`heaptap export --to pprof` writes");
  }
  auto curl = Curl::load();
  if (curl == nullptr) return base::fail("can't load libcurl.so.4 (7.66 or newer): install the package libcurl4");
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(options), std::move(curl)));
}

HttpClient::HttpClient(HttpOptions options, std::unique_ptr<Curl> curl)
    : options_(std::move(options)), curl_(std::move(curl)) {}
HttpClient::~HttpClient() = default;

bool HttpClient::begin() {
  curl_->easy = curl_->begin_easy();
  curl_->multi = curl_->begin_multi();
  return curl_->easy != nullptr && curl_->multi != nullptr;
}

void HttpClient::set_options(Reply& reply, std::string_view body) {
  const auto set = [this](Option option, auto value) { (void)curl_->set(curl_->easy, option, value); };
  reply.add_header("Content-Type: " + options_.content_type);
  if (!options_.content_encoding.empty()) reply.add_header("Content-Encoding: " + options_.content_encoding);
  reply.add_header("Expect:");  // the body is sent without a question
  if (!options_.token.empty()) reply.add_header("Authorization: Bearer " + options_.token);
  set(kUrl, options_.url.c_str());
  set(kPost, 1L);
  set(kBody, body.data());
  set(kBodyBytes, static_cast<int64_t>(body.size()));
  set(kHeaders, reply.headers);
  set(kUserAgent, "heaptap");
  set(kWriteFunction, &Reply::take);
  set(kWriteTo, static_cast<void*>(&reply));
  set(kErrorBuffer, reply.error.data());
  set(kOpenSocketFunction, &open_socket);
  set(kNoSignals, 1L);
  set(kQuickExit, 1L);
  set(kTimeoutMs, static_cast<long>(options_.time.count()));
  if (options_.is_direct) set(kNoProxy, "*");
  if (options_.ca_file.empty()) return;
  set(kTrustedFile, options_.ca_file.c_str());
  set(kTrustedDirectory, static_cast<const char*>(nullptr));
}

// What points to a reply and a body that end with the request.
void HttpClient::reset_options() {
  for (const Option each : {kErrorBuffer, kHeaders, kBody, kWriteTo})
    (void)curl_->set(curl_->easy, each, static_cast<void*>(nullptr));
}

Answer HttpClient::post(std::string_view body, const std::function<bool()>& goes_on) {
  constexpr int kLookMs = 50;
  Reply reply(*curl_);
  set_options(reply, body);
  if (const int code = curl_->add(curl_->multi, curl_->easy); code != kOk) {
    reset_options();
    return {Kind::kFailed, make_error("libcurl can't begin a request (CURLMcode {})", code).message};
  }
  int result = kOk;
  bool is_canceled = false;
  for (int running = 1; running != 0 && !is_canceled;) {
    if (curl_->perform(curl_->multi, &running) != kOk) break;
    if (running != 0) (void)curl_->poll(curl_->multi, nullptr, 0, kLookMs, nullptr);
    is_canceled = running != 0 && !goes_on();
  }
  int left = 0;
  while (const Message* const message = curl_->read(curl_->multi, &left)) {
    if (message->kind == kDone) result = message->data.result;
  }
  Answer answer = answer_of(reply, result, is_canceled);
  (void)curl_->remove(curl_->multi, curl_->easy);
  reset_options();
  return answer;
}

Answer HttpClient::answer_of(const Reply& reply, int result, bool is_canceled) const {
  long status = 0;
  const char* place = nullptr;
  (void)curl_->get(curl_->easy, kStatus, &status);
  (void)curl_->get(curl_->easy, kRedirectedTo, &place);
  // Once it is said that a profile was taken, it must not be sent again, however the answer ends.
  if (status >= 200 && status < 300) return {Kind::kAccepted, reply.body};
  if (is_canceled) return {Kind::kCanceled, make_error("the wait for an answer was ended").message};
  if (status >= 300 && status < 400) {
    return {Kind::kRefused, make_error("it answers {}, that it is elsewhere{}{}: name that address", status,
                                       place != nullptr ? ", at " : "", cut(place != nullptr ? place : "", kMaxShown))
                                .message};
  }
  if (status >= 400) {
    const std::string text = cut(base::trimmed(std::string_view(reply.body)), kMaxShown);
    std::string why = make_error("it answers {}{}{}", status, text.empty() ? "" : ": ", text).message;
    if (status == 401 || status == 403)
      why = make_error("{}; HEAPTAP_PUSH_TOKEN or --push-token-file has the token that is sent", why).message;
    return {is_later(status) ? Kind::kFailed : Kind::kRefused, std::move(why)};
  }
  std::string why = cut(reply.error[0] != '\0' ? reply.error.data() : curl_->text_of(result), kErrorBytes);
  if (result == kOk) why = make_error("it gives no answer of HTTP").message;
  if (result == kTimedOut) why = make_error("no answer in {} ms", options_.time.count()).message;
  if (result == kUntrusted) why = make_error("{}; --push-ca FILE trusts another issuer", why).message;
  return {Kind::kFailed, std::move(why)};
}

}  // namespace heaptap::push
