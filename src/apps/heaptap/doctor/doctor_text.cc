#include "apps/heaptap/doctor/doctor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "common/base/safe_text.h"
#include "views/json/json_writer.h"

namespace heaptap::app {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kTextColumn = 18;  // after the verdict and the check's name
constexpr std::array<const char*, 3> kVerdicts{"ok", "note", "FAIL"};
constexpr std::array<const char*, 3> kVerdictsInJson{"ok", "note", "fail"};

// Appends words, and wraps lines at the column of the text.
void append_wrapped(std::string& out, const std::string& text) {
  size_t column = kTextColumn;
  bool is_first = true;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!is_first && column + 1 + word.size() > kColumns) {
      out += "\n" + std::string(kTextColumn, ' ');
      column = kTextColumn;
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    is_first = false;
  }
  out += '\n';
}

}  // namespace

bool has_failed(const std::vector<CheckGroup>& groups) {
  return std::ranges::any_of(groups, [](const CheckGroup& group) {
    return std::ranges::find(group.checks, Verdict::kFail, &Check::verdict) != group.checks.end();
  });
}

std::string render_checks(const std::vector<CheckGroup>& groups) {
  std::string out;
  for (const CheckGroup& group : groups) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", base::safe_text(group.subject));
    for (const Check& check : group.checks) {
      out += fmt::format("{:<4}  {:<10}  ", kVerdicts[static_cast<size_t>(check.verdict)], check.name);
      append_wrapped(out, base::safe_text(check.text));
      for (const std::string& fix : check.fixes) {
        out += std::string(kTextColumn + 2, ' ') + base::safe_text(fix) + "\n";
      }
    }
  }
  out += has_failed(groups) ? "\nWhat is marked FAIL prevents recording.\n" : "\nNothing prevents recording.\n";
  return out;
}

std::string render_checks_json(const std::vector<CheckGroup>& groups) {
  std::string text;
  json::JsonWriter json(text, json::JsonLayout::kLinePerEntry);
  json.begin_object();
  json.member("format", "heaptap-doctor");
  json.member("version", 1);
  json.member("passed", !has_failed(groups));
  json.key("checks").begin_array();
  for (const CheckGroup& group : groups) {
    for (const Check& check : group.checks) {
      const json::JsonObject object(json);
      json.member("subject", group.subject);
      json.member("name", check.name);
      json.member("verdict", kVerdictsInJson[static_cast<size_t>(check.verdict)]);
      json.member("text", check.text);
      json.key("fixes").values(check.fixes);
    }
  }
  json.end_array();
  json.end_object();
  return text += '\n';
}

}  // namespace heaptap::app
