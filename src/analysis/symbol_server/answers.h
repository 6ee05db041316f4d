// Request handler of the symbol server. Keeps recently requested modules open. Reads files, writes none.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "analysis/symbol_server/symbol_messages.h"
#include "analysis/symbols/file_provider.h"
#include "analysis/symbols/module_names.h"
#include "common/base/result.h"
#include "common/message/message.h"
#include "common/model/row_table.h"

namespace heaptap::symbol_server {

inline constexpr size_t kMaxAnswerBytes = size_t{1} << 20;  // approximate: one name may exceed the rest of it

class Answers {
 public:
  // The provider must outlive this.
  explicit Answers(symbols::FileProvider& files) : files_(files) {}

  // Fields of the answer; an error is a refusal.
  base::Result<message::Fields> answer(const message::Message& request);

 private:
  static constexpr size_t kMaxOpen = 16;
  struct Rows {
    std::string build_id;
    uint64_t wanted = 0;
    bool has_wanted = false;
    model::RowTable table;
    std::string bytes;
  };

  symbols::ModuleNames& names_of(const std::string& build_id);
  base::Result<message::Fields> levels(const LevelsRequest& request);
  base::Result<message::Fields> frames(const FramesRequest& request);
  base::Result<message::Fields> variable(const VariableRequest& request);
  base::Result<message::Fields> rows(const RowsRequest& request);

  symbols::FileProvider& files_;
  std::list<std::pair<std::string, symbols::ModuleNames>> open_;  // by build-id, most recently used first
  Rows rows_;                                                     // of the last request
};

}  // namespace heaptap::symbol_server
