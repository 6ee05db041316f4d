// Background thread that queries a recording, since an answer may take long. All methods are called by the thread that created the
// observer; the recording is used by the background thread alone.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "views/client/recording.h"
#include "views/top/sample.h"
#include "views/top/take_sample.h"

namespace heaptap::top {

struct Question {
  enum class Kind : uint8_t { kSample, kNames, kMark, kScan, kStack, kNextProcess, kNextImage };
  Kind kind = Kind::kSample;
  SampleRequest request = {};
  std::string mark = {};  // its name
  uint64_t stack = 0;
  size_t width = 80;  // width of the stack's page
};

struct Answer {
  Question::Kind kind = Question::Kind::kSample;
  uint32_t pid = 0;          // process it is about,
  uint32_t image = 0;        // and its program
  uint32_t asked_image = 0;  // 0: the last one
  SharedSample sample = {};
  std::vector<NamedStack> names = {};
  std::optional<LeakSample> leaks = {};
  std::optional<StackPage> page = {};
  std::string mark = {};
  std::string message = {};
  bool is_trouble = false;
  bool has_ended = false;  // no further answers
};

class Observer {
 public:
  static base::Result<std::unique_ptr<Observer>> create(std::unique_ptr<client::Recording> recording,
                                                        query::Query names_from);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  // Waits for the answer to the last question.
  ~Observer();

  void ask(Question question);
  // Whether an answer is pending.
  [[nodiscard]] bool is_busy() const;
  std::vector<Answer> take();
  // Readable when there are answers.
  [[nodiscard]] int descriptor() const { return event_.get(); }

 private:
  Observer(std::unique_ptr<client::Recording> recording, query::Query names_from, base::UniqueFd event);
  void answer_all();
  Answer answer_to(const Question& question);
  void answer_sample(const Question& question, Answer& answer);
  void answer_mark(const Question& question, Answer& answer);
  void answer_scan(const Question& question, Answer& answer);
  void answer_next(const Question& question, Answer& answer);
  void answer_next_image(const Question& question, Answer& answer);
  void take_news(Answer& answer);
  void take_scan(client::ProgramId program, Answer& answer);

  std::unique_ptr<client::Recording> recording_;
  const query::Query names_from_;
  base::UniqueFd event_;
  uint32_t known_scan_ = 0;   // last scan with reported leaks
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Question> questions_;
  std::vector<Answer> answers_;
  bool is_answering_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace heaptap::top
