// JSON output in large pieces, so that a document is never in memory as a whole.
#pragma once
#include <cstddef>
#include <string>

#include "analysis/report/view.h"
#include "views/json/json_writer.h"

namespace heaptap::json {

class JsonPieces {
 public:
  // `write` must outlive this.
  explicit JsonPieces(const report::Write& write) : write_(write) {}
  JsonPieces(const JsonPieces&) = delete;
  JsonPieces& operator=(const JsonPieces&) = delete;
  // Ends the last line.
  ~JsonPieces() {
    text_ += '\n';
    write_(text_);
  }

  JsonWriter& json() { return json_; }
  // To be called between entries: writes the buffer if it is large enough.
  void flush() {
    constexpr size_t kPieceBytes = size_t{1} << 18;
    if (text_.size() < kPieceBytes) return;
    write_(text_);
    text_.clear();
  }

 private:
  const report::Write& write_;
  std::string text_;
  JsonWriter json_{text_};
};

}  // namespace heaptap::json
