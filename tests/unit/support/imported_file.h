// File of another tool for import tests, and the result of its import.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/imports/import.h"
#include "analysis/ledger/ledger.h"
#include "common/base/gzip.h"

namespace heaptap::test {

inline std::string gzipped(std::string_view text) {
  std::string bytes;
  const base::GzipWriter::Write write = [&bytes](std::string_view piece) { bytes += piece; };
  base::GzipWriter writer(write);
  writer.write(text);
  writer.finish();
  return bytes;
}

class ImportedFile {
 public:
  explicit ImportedFile(std::string_view bytes) {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path().string() + "/heaptap-import-test." + std::to_string(getpid()) + "." +
            std::to_string(++count);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~ImportedFile() { std::filesystem::remove(path_); }
  ImportedFile(const ImportedFile&) = delete;
  ImportedFile& operator=(const ImportedFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// "inner<outer<main": function names; "?" for a frame without one.
inline std::string text_of(const model::Tables& tables, model::StackId stack) {
  std::string text;
  for (; stack >= wire::kRootCount; stack = tables.stacks[stack].parent) {
    for (const model::Frame& frame : tables.names->frames_of(tables.stacks[stack].code)) {
      text += text.empty() ? "" : "<";
      text += frame.function.empty() ? "?" : frame.function;
    }
  }
  return text;
}

// Ledger of an imported file.
struct Counted : model::EventSink {
  explicit Counted(uint64_t to_ns = ~uint64_t{0}) : ledger({.filter = {.to_ns = to_ns}}) {}
  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override { ledger.add(batch, tables); }

  // Bytes by stack, live or at the peak.
  [[nodiscard]] std::map<std::string, uint64_t> bytes(const model::Tables& tables, bool at_peak = false) const {
    std::map<std::string, uint64_t> sums;
    for (model::SiteId site = 0; site < tables.sites.size(); ++site) {
      const uint64_t bytes = at_peak ? ledger.peak_bytes_of(site) : ledger.tallies()[site].live_bytes;
      if (bytes != 0) sums[text_of(tables, tables.sites[site].stack)] += bytes;
    }
    return sums;
  }

  ledger::Ledger ledger;
};

inline std::unique_ptr<model::EventSource> opened(const ImportedFile& file) {
  auto source = imports::open_import(file.path());
  EXPECT_TRUE(source) << source.error().message;
  return source ? *std::move(source) : nullptr;
}

inline std::string refusal_of(std::string_view bytes) {
  const ImportedFile file(bytes);
  const auto source = imports::open_import(file.path());
  return source ? "" : source.error().message;
}

inline bool has_note(const model::Capture& capture, model::NoteKind kind) {
  return std::ranges::any_of(capture.notes, [kind](const model::Note& note) { return note.kind == kind; });
}

}  // namespace heaptap::test
