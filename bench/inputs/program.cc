// Compiler workload: much of the standard library, many template instances.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

template <int kNumber>
struct Record {
  std::string name = "record " + std::to_string(kNumber);
  std::map<std::string, std::vector<std::tuple<int, double, std::string>>> values;
  std::unordered_map<std::string, std::variant<int, std::string, double>> properties;

  std::optional<std::string> find(const std::string& key) const {
    const auto found = properties.find(key);
    if (found == properties.end()) return std::nullopt;
    std::ostringstream text;
    std::visit([&](const auto& value) { text << kNumber << value; }, found->second);
    return text.str();
  }
};

template <int kNumber>
size_t use(const std::vector<std::string>& words) {
  Record<kNumber> record;
  for (const std::string& word : words) {
    record.values[word].emplace_back(kNumber, 0.5 * kNumber, word);
    record.properties.emplace(word, kNumber % 2 == 0 ? std::variant<int, std::string, double>(word) : kNumber);
  }
  std::set<std::pair<size_t, std::string>> sorted;
  for (auto& [key, list] : record.values) {
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return std::get<1>(a) > std::get<1>(b); });
    sorted.emplace(list.size(), record.find(key).value_or(key));
  }
  std::function<size_t(size_t)> sum = [&](size_t from) { return from + sorted.size(); };
  return sum(kNumber);
}

template <int... kNumbers>
size_t use_all(const std::vector<std::string>& words, std::integer_sequence<int, kNumbers...>) {
  return (use<kNumbers>(words) + ...);
}

}  // namespace

int main() {
  const std::regex word("([a-z]+)-([0-9]+)");
  std::vector<std::string> words;
  for (std::string line; std::getline(std::cin, line);) {
    std::smatch match;
    if (std::regex_match(line, match, word)) words.push_back(match[1].str());
  }
  std::cout << use_all(words, std::make_integer_sequence<int, 2>()) << '\n';
}
