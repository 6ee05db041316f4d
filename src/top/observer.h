// Asks a recording in a thread of its own, since an answer may take long, and hands answers over. The thread that makes it calls
// all of it; the recording is the observer's alone.
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

#include "base/result.h"
#include "base/unique_fd.h"
#include "live/recording.h"
#include "top/sample.h"
#include "top/take_sample.h"

namespace heaptap::top {

struct Question {
  enum class Kind : uint8_t { kSample, kNames, kMark, kScan, kStack, kNextProcess, kNextImage };
  Kind kind = Kind::kSample;
  SampleRequest request = {};
  std::string mark = {};  // its name
  uint64_t stack = 0;
  size_t width = 80;  // of the stack's page
};

struct Answer {
  Question::Kind kind = Question::Kind::kSample;
  uint32_t pid = 0;          // of the process it is about,
  uint32_t image = 0;        // and its program
  uint32_t asked_image = 0;  // 0: the last one, whichever that is
  SharedSample sample = {};
  std::vector<NamedStack> names = {};
  std::optional<LeakSample> leaks = {};
  std::optional<StackPage> page = {};
  std::string mark = {};
  std::string message = {};
  bool is_trouble = false;
  bool has_ended = false;  // nothing comes any more
};

class Observer {
 public:
  static base::Result<std::unique_ptr<Observer>> create(std::unique_ptr<live::Recording> recording,
                                                        analysis::Query names_from);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  // Waits for the answer to what was asked last.
  ~Observer();

  void ask(Question question);
  // Whether some answer is still to come.
  [[nodiscard]] bool is_busy() const;
  std::vector<Answer> take();
  // Readable when there are answers.
  [[nodiscard]] int descriptor() const { return event_.get(); }

 private:
  Observer(std::unique_ptr<live::Recording> recording, analysis::Query names_from, base::UniqueFd event);
  void answer_all();
  Answer answer_to(const Question& question);
  void answer_sample(const Question& question, Answer& answer);
  void answer_mark(const Question& question, Answer& answer);
  void answer_scan(const Question& question, Answer& answer);
  void answer_next(const Question& question, Answer& answer);
  void answer_next_image(const Question& question, Answer& answer);
  void take_news(Answer& answer);
  void take_scan(live::ProgramId program, Answer& answer);

  std::unique_ptr<live::Recording> recording_;
  const analysis::Query names_from_;
  base::UniqueFd event_;
  uint32_t known_scan_ = 0;   // whose leaks were told
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Question> questions_;
  std::vector<Answer> answers_;
  bool is_answering_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace heaptap::top
