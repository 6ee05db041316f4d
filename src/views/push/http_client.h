// Client that posts bodies to one address, by libcurl, which is loaded when it is needed.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::push {

struct HttpOptions {
  std::string url;
  std::string content_type;
  std::string content_encoding;    // empty: none
  std::string token;               // sent as that of a bearer; empty: none
  std::string ca_file;             // of issuers that are trusted, in PEM; empty: the system's
  bool is_direct = false;          // by no proxy
  std::chrono::milliseconds time;  // for one request
};

struct Answer {
  enum class Kind : uint8_t {
    kAccepted,
    kRefused,  // it would be again
    kFailed,   // another attempt may succeed
    kCanceled,
  };
  Kind kind = Kind::kAccepted;
  std::string text;  // why it wasn't accepted; else the beginning of the answer's body, as it is
};

class HttpClient {
 public:
  // Fails where libcurl can't be loaded. Call before there are threads. Opens no descriptors that programs could inherit.
  static base::Result<std::unique_ptr<HttpClient>> create(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Before all that follows, when programs have been started. False: no memory.
  bool begin();
  // A redirection isn't followed: it is refused. Little of the answer's body is read. `goes_on` is asked now and then.
  Answer post(std::string_view body, const std::function<bool()>& goes_on);

 private:
  struct Curl;
  struct Reply;

  HttpClient(HttpOptions options, std::unique_ptr<Curl> curl);
  void set_options(Reply& reply, std::string_view body);
  void reset_options();
  [[nodiscard]] Answer answer_of(const Reply& reply, int result, bool is_canceled) const;

  const HttpOptions options_;
  const std::unique_ptr<Curl> curl_;
};

}  // namespace heaptap::push
