// Counts the words of a file, and keeps more than it needs: lines with a # are lost, and the longest lines are kept twice.
// For trying heaptap: ./dev run -- build/demo/words README.md
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct Word {
  std::string text;
  int count = 0;
};

std::map<std::string, Word*> words;
std::vector<std::string> long_lines;  // grows, and nobody reads it

Word* find(const std::string& text) {
  Word*& word = words[text];
  if (word == nullptr) word = new Word{text};
  return word;
}

char* copy_line(const char* line) { return strdup(line); }

void read_lines(FILE* file) {
  constexpr size_t kLong = 80;
  char line[4096];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strlen(line) > kLong) long_lines.emplace_back(line);
    char* copy = copy_line(line);
    for (char* text = std::strtok(copy, " \n"); text != nullptr; text = std::strtok(nullptr, " \n")) {
      find(text)->count++;
    }
    if (std::strchr(line, '#') == nullptr) std::free(copy);  // lines with a # are lost
  }
}

}  // namespace

int main(int count, char** arguments) {
  FILE* const file = count > 1 ? std::fopen(arguments[1], "r") : stdin;
  if (file == nullptr) {
    std::perror(arguments[1]);
    return 1;
  }
  read_lines(file);
  std::printf("%zu different words\n", words.size());
  return 0;
}
