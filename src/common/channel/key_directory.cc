#include "common/channel/key_directory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "common/base/base64.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/base/write_all.h"
#include "common/channel/failure.h"
#include "common/channel/secret_file.h"

namespace heaptap::channel {
namespace {

constexpr std::string_view kKeyFile = "key";
constexpr std::string_view kKeyPrefix = "heaptap-key1:";
constexpr size_t kMaxKeyFileBytes = 256;
constexpr size_t kMaxListBytes = size_t{1} << 20;
constexpr mode_t kOnlyOwner = S_IRUSR | S_IWUSR;

// With all missing parents.
base::Result<> make_directory(const std::string& path) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    const std::string directory = path.substr(0, end);
    if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return fail({"can't make the directory '", directory, "' for keys: ", base::reason_of(errno),
                   "; $HEAPTAP_KEYS names another one"});
    }
  }
  return {};
}

base::Result<> write_text(const base::UniqueFd& file, std::string_view text, const std::string& path) {
  if (!base::write_all(file.get(), text)) return fail({"can't write '", path, "': ", base::reason_of(errno)});
  return {};
}

// Atomically: link() fails if another process has created one in the meantime.
base::Result<> write_new_key(const std::string& path, const KeyPair& key) {
  const std::string draft = path + "." + std::to_string(getpid());
  (void)unlink(draft.c_str());
  const base::UniqueFd file(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOnlyOwner));
  if (!file) return fail({"can't write '", draft, "': ", base::reason_of(errno)});
  std::string text = join({kKeyPrefix, base::base64_encode(key.secret()), "\n"});
  auto written = write_text(file, text, draft);
  explicit_bzero(text.data(), text.size());
  const bool is_there = written && (fsync(file.get()), link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  (void)unlink(draft.c_str());
  if (!written) return written;
  if (!is_there) return fail({"can't make '", path, "': ", base::reason_of(error)});
  return {};
}

}  // namespace

base::Result<KeyDirectory> KeyDirectory::of_user() {
  // NOLINTBEGIN(concurrency-mt-unsafe)
  if (const char* const named = std::getenv(kVariable); named != nullptr && *named != 0) return KeyDirectory(named);
  if (geteuid() == 0) return KeyDirectory("/etc/heaptap");
  if (const char* const config = std::getenv("XDG_CONFIG_HOME"); config != nullptr && *config == '/') {
    return KeyDirectory(std::string(config) + "/heaptap");
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return KeyDirectory(std::string(home) + "/.config/heaptap");
  }
  // NOLINTEND(concurrency-mt-unsafe)
  return fail({"no directory for keys: neither $XDG_CONFIG_HOME nor $HOME is set"});
}

base::Result<std::optional<KeyPair>> KeyDirectory::read_key() const {
  const std::string path = file(kKeyFile);
  auto text = read_owned_file(path, "key file", FileAccess::kReadByOwner, kMaxKeyFileBytes);
  if (!text) return std::unexpected(std::move(text).error());
  if (!*text) return std::nullopt;
  KeyPair::Secret secret{};
  const std::string_view rest = base::trimmed(**text);
  std::optional<KeyPair> key;
  if (rest.starts_with(kKeyPrefix) && base::base64_decode(rest.substr(kKeyPrefix.size()), secret)) {
    key = KeyPair::from_secret(secret);
  }
  explicit_bzero(secret.data(), secret.size());
  explicit_bzero((*text)->data(), (*text)->size());
  if (!key) return fail({"'", path, "' does not contain a key: delete it, and pair the machines again"});
  return key;
}

base::Result<KeyPair> KeyDirectory::make_key() const {
  auto there = read_key();
  if (!there) return std::unexpected(std::move(there).error());
  if (*there) return **there;
  HEAPTAP_TRY(make_directory(path_));
  const auto made = KeyPair::generate();
  if (!made) return std::unexpected(made.error());
  HEAPTAP_TRY(write_new_key(file(kKeyFile), *made));
  there = read_key();
  if (!there) return std::unexpected(std::move(there).error());
  if (!*there) return fail({"the key that was just made in '", path_, "' is gone"});
  return **there;
}

base::Result<std::vector<TrustedKey>> KeyDirectory::read_trusted(const char* list) const {
  const std::string path = file(list);
  const auto text = read_owned_file(path, "key list", FileAccess::kWrittenByOwner, kMaxListBytes);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::vector<TrustedKey>();
  if ((*text)->size() > kMaxListBytes) return fail({"the key list '", path, "' is too long (1 MiB at most)"});
  return parse_trusted_keys(**text, join({"'", path, "'"}));
}

base::Result<bool> KeyDirectory::add_trusted(const char* list, const TrustedKey& key) const {
  const auto there = read_trusted(list);
  if (!there) return std::unexpected(there.error());
  const auto is_same = [&](const TrustedKey& each) { return each.key == key.key && each.name == key.name; };
  if (std::ranges::any_of(*there, is_same)) return false;
  HEAPTAP_TRY(make_directory(path_));
  const std::string path = file(list);
  const base::UniqueFd out(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kOnlyOwner));
  if (!out) return fail({"can't write '", path, "': ", base::reason_of(errno)});
  // An unterminated last line stays a separate line.
  HEAPTAP_TRY(write_text(out, join({there->empty() ? "" : "\n", key.key.to_text(), " ", key.name, "\n"}), path));
  return true;
}

}  // namespace heaptap::channel
