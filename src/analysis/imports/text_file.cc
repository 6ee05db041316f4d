#include "analysis/imports/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "analysis/imports/decoder.h"
#include "common/base/unique_fd.h"

namespace heaptap::imports {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;    // read from the file at once
constexpr size_t kMaxLineBytes = size_t{1} << 20;  // names of C++ templates are long, but not that long

}  // namespace

class TextFile::Impl {
 public:
  Impl(base::UniqueFd file, uint64_t file_bytes)
      : file_(std::move(file)), file_bytes_(file_bytes), input_(kPieceBytes) {
    read_piece();
    decoder_ = decoder_for({input_.data(), input_end_});
  }

  std::optional<std::string_view> next() {
    for (size_t searched = 0;;) {
      const char* const begin = text_.data() + text_begin_;
      const size_t size = text_end_ - text_begin_;
      if (const void* const end = memchr(begin + searched, '\n', size - searched)) {
        const auto length = static_cast<size_t>(static_cast<const char*>(end) - begin);
        text_begin_ += length + 1;
        ++line_number_;
        return std::string_view(begin, length);
      }
      searched = size;
      if (size >= kMaxLineBytes) return end(Ending::kLongLine);
      if (!decode_more()) return end(ending_of_rest(size));
    }
  }

  [[nodiscard]] Ending ending() const { return ending_; }
  [[nodiscard]] uint64_t line_number() const { return line_number_; }
  [[nodiscard]] uint64_t read_bytes() const { return read_bytes_; }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }

 private:
  std::nullopt_t end(Ending ending) {
    ending_ = ending;
    return std::nullopt;
  }

  [[nodiscard]] Ending ending_of_rest(size_t rest_bytes) const {
    if (failed_) return Ending::kUnreadable;
    if (decoder_->state() == Decoder::State::kDamaged) return Ending::kDamaged;
    return rest_bytes != 0 || decoder_->state() == Decoder::State::kWithin ? Ending::kCut : Ending::kWhole;
  }

  // False: end of file.
  bool decode_more() {
    if (text_begin_ != 0) {
      std::memmove(text_.data(), text_.data() + text_begin_, text_end_ - text_begin_);
      text_end_ -= text_begin_;
      text_begin_ = 0;
    }
    for (;;) {
      const Decoder::Progress progress =
          decoder_->decode({input_.data() + input_begin_, input_end_ - input_begin_}, text_.subspan(text_end_));
      input_begin_ += progress.taken;
      text_end_ += progress.made;
      if (progress.made != 0) return true;
      if (decoder_->state() == Decoder::State::kDamaged) return false;
      if (progress.taken == 0 && (input_begin_ != input_end_ || !read_piece())) return false;
    }
  }

  bool read_piece() {
    ssize_t got = 0;
    do {
      got = ::read(file_.get(), input_.data(), input_.size());
    } while (got < 0 && errno == EINTR);
    failed_ = got < 0;
    input_begin_ = 0;
    input_end_ = got > 0 ? static_cast<size_t>(got) : 0;
    read_bytes_ += input_end_;
    return got > 0;
  }

  base::UniqueFd file_;
  uint64_t file_bytes_;
  uint64_t read_bytes_ = 0;
  std::vector<char> input_;
  size_t input_begin_ = 0;
  size_t input_end_ = 0;
  std::unique_ptr<Decoder> decoder_;
  static constexpr size_t kTextBytes = 2 * kMaxLineBytes;
  // Not set to zero: most files that are opened are of another kind, which their first line shows.
  std::unique_ptr<char[]> memory_ = std::make_unique_for_overwrite<char[]>(kTextBytes);
  std::span<char> text_{memory_.get(), kTextBytes};
  size_t text_begin_ = 0;
  size_t text_end_ = 0;
  uint64_t line_number_ = 0;
  Ending ending_ = Ending::kWhole;
  bool failed_ = false;
};

base::Result<TextFile> TextFile::open(const std::string& path) {
  base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return base::fail("can't read '{}': {}", path, base::reason_of(errno));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return base::fail("can't read '{}': {}", path, base::reason_of(errno));
  if (!S_ISREG(status.st_mode)) {
    return base::fail("can't read '{}': it is not a regular file, and it is read more than once; save it as a file",
                      path);
  }
  return TextFile(std::make_unique<Impl>(std::move(file), static_cast<uint64_t>(status.st_size)));
}

TextFile::TextFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextFile::TextFile(TextFile&&) noexcept = default;
TextFile& TextFile::operator=(TextFile&&) noexcept = default;
TextFile::~TextFile() = default;

std::optional<std::string_view> TextFile::next() { return impl_->next(); }
TextFile::Ending TextFile::ending() const { return impl_->ending(); }
uint64_t TextFile::line_number() const { return impl_->line_number(); }
uint64_t TextFile::read_bytes() const { return impl_->read_bytes(); }
uint64_t TextFile::file_bytes() const { return impl_->file_bytes(); }

}  // namespace heaptap::imports
