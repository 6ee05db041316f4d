#!/usr/bin/env python3
"""Checks the #include lines, some calls, the sentences and the words below src/ against tools/layers.txt, and that nothing is allowed there
that no file makes use of. Prints each violation; exit status 1 if there is one."""

import argparse
import fnmatch
import pathlib
import re
import sys

SOURCE_SUFFIXES = {".h", ".c", ".cc", ".cpp", ".S", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
# What is no code, and a literal's text: a raw string, a string, a character; comments.
NO_CODE = re.compile(
    r'R"([^\s()\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL
)
# One literal or several in a row, which the compiler joins; and what its words are.
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
WORD = re.compile(r"[A-Za-z][A-Za-z']+")
SENTENCE_WORDS = 3
PREPROCESSOR_TEXT = re.compile(r"^[ \t]*#[ \t]*(?:error|warning)\b[^\n]*", re.MULTILINE)
# What stands before a name in an expression; another word, or the end of a type, stands before it in a declaration.
EXPRESSION_WORDS = {"return", "co_return", "co_await", "co_yield", "throw", "else", "do", "case", "and", "or", "not"}

# A phrase of `refused-text`, in quotes.
PHRASE = re.compile(r'"([^"]+)"')
INCLUDE_LINE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)


def pattern_of(phrases):
    """Finds phrases as whole words, in a literal or comment of several lines as well; not as part of a file's name."""
    words = "|".join(r'[\s"/*\\]+'.join(phrase.split()) for phrase in phrases)
    return re.compile(rf"\b(?<![\w/])(?:{words})(?![\w/]|\.(?:h|cc)\b)", re.IGNORECASE)


class Rules:
    """What tools/layers.txt says."""

    def __init__(self, text):
        self.floors = {}  # floor -> the floors that its rooms may include
        self.rooms = {}  # room -> the rooms of its floor that it may include
        self.narrowed = {}  # room -> the floors that it may include, where these are fewer than its floor's
        self.freestanding = set()
        self.freestanding_headers = []
        self.doors = []  # (file patterns, header patterns)
        self.only = []  # (directories and file patterns, header patterns)
        self.only_calls = []  # (file patterns, functions)
        self.prose = set()  # directories that may build sentences; empty: all may
        self.prose_calls = set()  # functions whose arguments may be sentences everywhere
        self.prose_files = []  # patterns of other files that may build some
        self.prose_literals = set()  # that are no sentences
        self.refused = []  # patterns of names
        self.refused_texts = []  # (pattern of phrases, what to write in their place), in literals and comments
        self.refused_messages = []  # the same, in literals alone
        self.errors = []
        self.unused = {}  # what is allowed and was not made use of yet -> the line that allows it
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if line:
                self._read(number, line)

    def _read(self, number, line):
        kind, _, rest = line.partition(" ")
        if kind == "only:":  # no directory
            kind, rest = "only", ":" + rest
        left, _, right = rest.partition(":")
        names, others = left.split(), right.split()
        if kind == "floor" and len(names) == 1:
            self._define(number, names[0], others, self.narrowed if names[0] in self.rooms else self.floors, self.floors)
        elif kind == "room" and len(names) == 1:
            floor = floor_of(names[0])
            if floor == names[0] or floor not in self.floors:
                self.errors.append(f"layers.txt:{number}: {names[0]} is in no floor that a line above defines")
            self._define(number, names[0], [f"{floor}/{other}" for other in others], self.rooms, self.rooms)
        elif kind == "freestanding":
            self.freestanding.update(names)
            self.errors += [f"layers.txt:{number}: no line above defines {name}" for name in names if name not in self.rooms]
        elif kind == "freestanding-header":
            self.freestanding_headers += names
            self.unused.update({("a freestanding room", f"<{header}>"): number for header in names})
        elif kind == "door":
            self.doors.append((names, others))
            self.unused.update({(" ".join(names), f"<{header}>"): number for header in others})
        elif kind == "only":
            self.only.append((names, others))
            self.unused.update({(name, f"<{' '.join(others)}>"): number for name in names})
        elif kind == "only-call" and names and others:
            self.only_calls.append((names, others))
        elif kind == "refused" and names:
            self.refused += names
        elif kind in ("refused-text", "refused-message") and (phrases := PHRASE.findall(left)) and right.strip():
            refused = self.refused_texts if kind == "refused-text" else self.refused_messages
            refused.append((pattern_of(phrases), right.strip()))
        elif kind == "prose" and names:
            self.prose.update(names)
        elif kind == "prose-call" and names:
            self.prose_calls.update(names)
        elif kind == "prose-file" and names:
            self.prose_files += names
            self.unused.update({(name, "a sentence"): number for name in names})
        elif kind == "prose-literal" and names:
            self.prose_literals.add(rest.strip())
            self.unused[("any directory", f'"{rest.strip()}"')] = number
        else:
            self.errors.append(f"layers.txt:{number}: not understood: {line}")

    def _define(self, number, name, others, table, known):
        for other in others:
            if other not in known:
                self.errors.append(f"layers.txt:{number}: {name} names {other}, which no line above defines")
        if name in table:
            self.errors.append(f"layers.txt:{number}: {name} is defined twice")
        table[name] = set(others)
        self.unused.update({(name, other): number for other in others})

    def why_not(self, room, other):
        """Why a room may not include another one; None: it may. What allows it is in use then."""
        floor, other_floor = floor_of(room), floor_of(other)
        if room == other:
            return None
        if room in self.freestanding and other not in self.freestanding:
            return f"{room} is freestanding and may not include {other}"
        if floor == other_floor:
            if other not in self.rooms[room]:
                return f"{room} may not include {other}"
            self.use(room, other)
            return None
        asked = room if room in self.narrowed else floor
        if other_floor not in self.narrowed.get(room, self.floors[floor]):
            return f"{asked} may not include {other_floor}"
        self.use(asked, other_floor)
        return None

    def use(self, who, what):
        """Somebody makes use of what a line allows."""
        self.unused.pop((who, what), None)

    def unused_allowances(self):
        for (who, what), number in self.unused.items():
            yield f"layers.txt:{number}: {who} may include {what}, and doesn't"

    def room_of(self, path):
        """The room of a file, given as a path below src/; None if no line names its directory."""
        room = "/".join(path.parent.parts[:2])
        return room if room in self.rooms else None


def floor_of(room):
    return room.partition("/")[0]


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def included_file(root, path, name):
    """Where a quoted include leads, below src/; "public" for a header of include/; None if nowhere."""
    source = root / "src"
    for candidate in (source / name, (source / path).parent / name):
        if candidate.is_file():
            return candidate.resolve().relative_to(source.resolve())
    return "public" if (root / "include" / name).is_file() else None


def check_quoted(rules, root, path, room, name):
    target = included_file(root, path, name)
    if target == "public":
        return None
    if target is None:
        return f'"{name}" is neither below src/ nor below include/ (take <…> for other headers)'
    other = rules.room_of(target)
    if other is None:
        return f'"{name}" is in a directory that layers.txt does not name'
    reason = rules.why_not(room, other)
    return f"{reason} ({name})" if reason else check_only(rules, path, room, name)


def first_match(name, patterns):
    return next((pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)), None)


def check_only(rules, path, room, name):
    for owners, headers in rules.only:
        if matches(name, headers):
            owner = next((owner for owner in owners if owner == room or matches(str(path), [owner])), None)
            if owner is None:
                return f"{'only ' + ', '.join(owners) if owners else 'no room'} may include <{name}>"
            rules.use(owner, f"<{' '.join(headers)}>")
    return None


def check_system(rules, path, room, name):
    if reason := check_only(rules, path, room, name):
        return reason
    if room not in rules.freestanding:
        return None
    if pattern := first_match(name, rules.freestanding_headers):
        rules.use("a freestanding room", f"<{pattern}>")
        return None
    for files, headers in rules.doors:
        if matches(str(path), files) and (pattern := first_match(name, headers)):
            rules.use(" ".join(files), f"<{pattern}>")
            return None
    return f"{room} is freestanding and may not include <{name}>"


def code_of(text):
    """The text without comments and literals, in the same lines."""
    return NO_CODE.sub(lambda found: "\n" * found.group().count("\n") + " ", text)


def is_declared(before):
    """Whether a name is declared or defined, by what stands before it: a word, or the end of a type."""
    word = re.search(r"(\w+)\s+$", before)
    if word:
        return word.group(1) not in EXPRESSION_WORDS
    return re.search(r"(?:[\w>]>|<>|[\w>][*&]+)\s+$", before) is not None


def find_calls(text, function):
    """The lines in which code calls a global function. Unqualified calls in a file that has its own one are that one's."""
    code = code_of(text)
    calls = []
    has_own = False
    for found in re.finditer(r"(?<![\w~])" + re.escape(function) + r"\s*\(", code):
        before = code[: found.start()]
        scope = re.search(r"(\w|>)?\s*::\s*$", before)
        if re.search(r"(?:\.|->)\s*$", before):
            continue
        line = before.count("\n") + 1
        if scope is None and is_declared(before):
            has_own = True
        elif scope is None:
            calls.append((line, False))
        elif scope.group(1) is None or re.search(r"\b(?:%s)\s+::\s*$" % "|".join(EXPRESSION_WORDS), before):
            calls.append((line, True))
        else:  # NAME::function: a definition of a class's, or a call of another one
            has_own = True
    return [line for line, is_global in calls if is_global or not has_own]


def check_calls(rules, path, text):
    for files, functions in rules.only_calls:
        if matches(str(path), files):
            continue
        for function in functions:
            for line in find_calls(text, function):
                yield f"src/{path}:{line}: only {', '.join(files)} may call {function}()"


def find_sentences(text, permitted_calls):
    """The literals with words for people that no permitted call has among its arguments, each with its line."""
    text = PREPROCESSOR_TEXT.sub("", text)
    sentences = []
    callers = []  # for each parenthesis or brace that is open: the name before it
    before = ""  # code since the last literal or bracket
    at = 0
    joined = None  # (line, text, permitted): a literal that the next one may go on
    for found in NO_CODE.finditer(text):
        gap = text[at : found.start()]
        for bracket in re.finditer(r"[(){}]|[^(){}]+", gap):
            token = bracket.group()
            if token in "({":
                name = re.search(r"(\w+)\s*(?:<[^<>;]*>)?\s*$", before)
                callers.append(name.group(1) if name else "")
                before = ""
            elif token in ")}":
                if callers:
                    callers.pop()
                before = ""
            else:
                before = token
        if gap.strip() and joined:
            sentences.append(joined)
            joined = None
        at = found.end()
        literal = LITERAL.fullmatch(found.group())
        if literal is None:
            continue
        before = ""
        permitted = not permitted_calls.isdisjoint(callers)
        line = text.count("\n", 0, found.start()) + 1
        joined = (joined[0], joined[1] + literal.group(1), permitted) if joined else (line, literal.group(1), permitted)
    if joined:
        sentences.append(joined)
    return [(line, said) for line, said, permitted in sentences if not permitted and is_sentence(said)]


def is_sentence(said):
    """Whether a literal is for people: names of files, formats and options have no spaces between their words."""
    return len(WORD.findall(said)) >= SENTENCE_WORDS and len(said.split()) >= SENTENCE_WORDS


def check_prose(rules, path, room, text):
    if not rules.prose or room in rules.prose:
        return
    for line, said in find_sentences(text, rules.prose_calls):
        if said.strip() in rules.prose_literals:
            rules.use("any directory", f'"{said.strip()}"')
            continue
        permission = next((name for name in rules.prose_files if matches(str(path), [name])), None)
        if permission:
            rules.use(permission, "a sentence")
            continue
        yield (
            f'src/{path}:{line}: {room} may not build the sentence "{said}": '
            f"hand data to {' or '.join(sorted(rules.prose))}, or make it the message of an error"
        )


def check_names(rules, path, text):
    if not rules.refused:
        return
    for number, line in enumerate(code_of(text).splitlines(), 1):
        for name in re.findall(r"[A-Za-z_]\w*", line):
            if matches(name, rules.refused):
                yield f"src/{path}:{number}: {name} is a name that tools/layers.txt refuses"


def find_texts(text):
    """(offset, text, whether it is a literal) of each literal and comment, as written; those in a row are one."""
    text = INCLUDE_LINE.sub(lambda found: " " * len(found.group()), text)
    joined = None
    for found in NO_CODE.finditer(text):
        is_literal = not found.group().startswith(("//", "/*"))
        if joined and joined[2] == is_literal and not text[joined[1] : found.start()].strip():
            joined = (joined[0], found.end(), is_literal)
            continue
        if joined:
            yield joined[0], text[joined[0] : joined[1]], joined[2]
        joined = (found.start(), found.end(), is_literal)
    if joined:
        yield joined[0], text[joined[0] : joined[1]], joined[2]


def refusals(patterns, text):
    """(offset, violation) of each phrase that is refused, given as refused_texts has them."""
    for pattern, instead in patterns:
        for found in pattern.finditer(text):
            phrase = re.sub(r'[\s"/*\\]+', " ", found.group())
            yield found.start(), f'"{phrase}" is refused by tools/layers.txt; instead: {instead}'


def check_texts(rules, path, text):
    patterns = {is_literal: rules.refused_texts + (rules.refused_messages if is_literal else []) for is_literal in (False, True)}
    for offset, said, is_literal in find_texts(text):
        for place, violation in refusals(patterns[is_literal], said.replace("\\n", "  ")):
            line = text.count("\n", 0, offset + place) + 1
            yield f"src/{path}:{line}: {violation}"


# A header begins with what it has, by its noun: "Owner of a file", not "Whose a file is".
CLAUSE = re.compile(r"// (What|Whose|Who|How|Whether|Where|When|Which)\b")


def check_first_words(path, text):
    if path.suffix == ".h" and (found := CLAUSE.match(text)):
        yield f'src/{path}:1: a header begins with a noun, not with "{found[1]}"'


def check_file(rules, root, path):
    """The violations of one file, given as a path below src/."""
    room = rules.room_of(path)
    if room is None:
        yield f"src/{path}: its directory is not in layers.txt"
        return
    text = (root / "src" / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        quoted, system = include.groups()
        trouble = check_quoted(rules, root, path, room, quoted) if quoted else check_system(rules, path, room, system)
        if trouble:
            yield f"src/{path}:{number}: {trouble}"
    yield from check_calls(rules, path, text)
    yield from check_names(rules, path, text)
    yield from check_texts(rules, path, text)
    yield from check_first_words(path, text)
    yield from check_prose(rules, path, room, text)


def check_tree(root):
    """All violations of a checkout, and the number of files that were read."""
    rules = Rules((root / "tools" / "layers.txt").read_text(encoding="utf-8"))
    source = root / "src"
    files = sorted(p.relative_to(source) for p in source.rglob("*") if p.suffix in SOURCE_SUFFIXES and p.is_file())
    violations = list(rules.errors)
    if not rules.errors:
        for path in files:
            violations += check_file(rules, root, path)
        violations += rules.unused_allowances()
    return violations, len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    violations, file_count = check_tree(parser.parse_args().root)
    for violation in violations:
        print(violation)
    print(f"{file_count} files, {len(violations)} violations")
    return 1 if violations or file_count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
