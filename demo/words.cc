// Counts the words of a file, and keeps more than it needs. For trying heaptap: ./dev run -- build/demo/words demo/words.cc
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

struct Word {
  std::string text;
  int count = 0;
};

static auto& words = *new std::map<std::string, Word*>;
static auto& long_lines = *new std::vector<std::string>;  // grows, and nobody reads it

static Word* find(const std::string& text) {
  Word*& word = words[text];
  if (word == nullptr) word = new Word{text};
  return word;
}

static char* copy_line(const char* line) { return strdup(line); }

static void read_lines(FILE* file) {
  constexpr size_t kLong = 60;
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
