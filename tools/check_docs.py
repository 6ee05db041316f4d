#!/usr/bin/env python3
"""Checks what the documentation says of the checkout: links between its pages lead somewhere, files that it names in `…` are
there, a decision is no longer than a page, their index has each of them once; versions, figures, names, commands and options are those
of the sources (doc_facts.py); no page has words that tools/layers.txt refuses in the sources. Prints each violation; exit status 1 if
there is one."""

import argparse
import fnmatch
import functools
import pathlib
import re
import sys

import check_layers
import doc_facts

DECISION_WORDS = 500  # a page
PAGE_WORDS = {"docs/architecture.md": 1200}  # of other pages, without what a table is drawn with
# What a page may have more for each further decision that it stands for in place of their own pages ("Replaces 72, 88."), up to a bound.
MORE_WORDS = 200
MAX_DECISION_WORDS = 900
REPLACES = re.compile(r"^Replaces ([\d, and]+)\.$", re.MULTILINE)
DECISION = re.compile(r"docs/decisions/(\d{4})-[\w-]+\.md")
INDEX = "docs/decisions/README.md"
INDEX_ENTRY = re.compile(r"^- \[(\d+)\]\((\d{4})-[\w-]+\.md\) (.*)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
# What is a path, or a file: the endings that the project's files have, with or without directories and patterns.
PATH = re.compile(r"[\w.*/-]+")
FILE = re.compile(r"[\w.*/-]+\.(?:h|c|cc|S|def|map|py|sh|cmake|md)")
# What a path may begin at. In a list of files those behind the first one stand without their directory.
STARTS = ("", "src/", "docs/")
# Pages whose files aren't those of this checkout: examples, glibc's, what is to come, and what was measured then.
OTHER_FILES = ("docs/howto/*", "docs/man/*", "docs/libc.md", "docs/next-rooms.md", "docs/measurements/*")
SKIPPED = {".git", "__pycache__"}
# Besides the pages: what users read as well.
OTHER_TEXTS = ("docs/man/**/*.scd", "docs/*.json", "include/**/*.h", "share/**/*.md")


def anchor_of(heading):
    """How the heading's anchor is called, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\]\([^)]*\)", "", heading).strip().lower()).replace(" ", "-")


def blanked(pattern, text):
    """The text with what the pattern finds taken out, in the same lines."""
    return pattern.sub(lambda found: "\n" * found.group().count("\n"), text)


class Checkout:
    """The pages and files below a directory, without what a build made."""

    def __init__(self, root):
        self.root = root
        self.pages = [page for page in (root / "README.md", root / "share/heaptap/SKILL.md") if page.is_file()] + sorted((root / "docs").rglob("*.md"))

    @functools.cached_property
    def files(self):
        """All files and directories, as paths below the root."""
        found, todo = set(), [self.root]
        while todo:
            for entry in todo.pop().iterdir():
                if entry.name in SKIPPED or (entry / "CMakeCache.txt").is_file():
                    continue
                found.add(str(entry.relative_to(self.root)))
                if entry.is_dir() and not entry.is_symlink():
                    todo.append(entry)
        return found

    @functools.cached_property
    def names(self):
        return {path.rpartition("/")[2] for path in self.files}

    def is_named(self, span):
        """Whether what stands in `…` is to be a file or a directory of the checkout. NAME stands for any."""
        if "NAME" in span:
            return False
        if FILE.fullmatch(span):
            return True
        first = span.partition("/")[0]
        return "/" in span and PATH.fullmatch(span) is not None and any(start + first in self.files for start in STARTS)

    def has(self, name):
        """Whether a file or directory is there that a page calls so."""
        name = name.rstrip("/")
        known = self.files if "/" in name else self.names
        names = [start + name for start in STARTS] if "/" in name else [name]
        if "*" in name:
            return any(fnmatch.filter(known, one) for one in names)
        return any(one in known for one in names)


def links_of(text):
    """Each link of a page that leads into the checkout, with its line."""
    for match in LINK.finditer(blanked(SPAN, blanked(FENCE, text))):
        if not re.match(r"[a-z]+:", match[1]):
            yield match.string[: match.start()].count("\n") + 1, match[1]


def check_links(page, text):
    for line, link in links_of(text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield line, f"{link} leads nowhere"
        elif anchor and anchor not in map(anchor_of, HEADING.findall(blanked(FENCE, target.read_text(encoding="utf-8")))):
            yield line, f"{link}: no heading has this anchor"


def check_files(checkout, text):
    text = blanked(FENCE, text)
    for match in SPAN.finditer(text):
        if checkout.is_named(match[1]) and not checkout.has(match[1]):
            yield text[: match.start()].count("\n") + 1, f"there is no {match[1]}"


def check_page(checkout, page):
    """The violations of one page."""
    name = str(page.relative_to(checkout.root))
    text = page.read_text(encoding="utf-8")
    found = list(check_links(page, text))
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in OTHER_FILES):
        found += check_files(checkout, text)
    for line, violation in sorted(found):
        yield f"{name}:{line}: {violation}"
    if decision := DECISION.fullmatch(name):
        for violation in check_decision(int(decision[1]), text):
            yield f"{name}: {violation}"
    words = len(re.findall(r"\S*\w\S*", text))
    if words > PAGE_WORDS.get(name, words):
        yield f"{name}: {words} words; it has {PAGE_WORDS[name]} at most"


def replaced_by(text):
    """The numbers of the decisions that a page stands for besides its own."""
    found = REPLACES.search(text)
    return [int(number) for number in re.findall(r"\d+", found[1])] if found else []


def check_decision(number, text):
    most = min(DECISION_WORDS + MORE_WORDS * max(0, len(replaced_by(text)) - 1), MAX_DECISION_WORDS)
    words = len(text.split())
    if words > most:
        yield f"{words} words; a decision has {most} at most, and its figures in docs/measurements/"
    if not text.startswith(f"# {number}. "):
        yield f"its heading doesn't begin with its number, {number}"


def check_index(checkout):
    """Whether the index has each decision once, those that are replaced under the page that they went to, and no other."""
    page = checkout.root / INDEX
    decisions = {path: found for path in checkout.files if (found := DECISION.fullmatch(path))}
    texts = {int(found[1]): (checkout.root / path).read_text(encoding="utf-8") for path, found in decisions.items()}
    if not page.is_file():
        if texts:
            yield f"{INDEX}: it is missing"
        return
    index = page.read_text(encoding="utf-8")
    listed = [int(number) for number, _, _ in INDEX_ENTRY.findall(index)]
    for number, linked, _ in INDEX_ENTRY.findall(index):
        if int(number) != int(linked):
            yield f"{INDEX}: {number} leads to {linked}"
    for number in sorted(texts.keys() | set(listed)):
        times = listed.count(number)
        if number not in texts:
            yield f"{INDEX}: there is no decision {number}"
        elif times != 1:
            yield f"{INDEX}: it lists decision {number} {times} times"
    for number, text in sorted(texts.items()):
        replaced = replaced_by(text)
        for old in replaced:
            if old in texts:
                yield f"docs/decisions/{old:04}-*: {number} replaces it"
        if replaced and f"| {', '.join(map(str, replaced))} | {number} |" not in index:
            yield f"{INDEX}: it doesn't say that {number} replaces {', '.join(map(str, replaced))}"


def check_words(checkout):
    """Words in pages that the sources may not have either: `refused-text` of tools/layers.txt."""
    layers = checkout.root / "tools/layers.txt"
    refused = check_layers.Rules(layers.read_text(encoding="utf-8")).refused_texts if layers.is_file() else []
    others = (path for pattern in OTHER_TEXTS for path in checkout.root.glob(pattern))
    for page in sorted({*checkout.pages, *others}):
        text = blanked(SPAN, blanked(FENCE, page.read_text(encoding="utf-8")))
        for place, violation in check_layers.refusals(refused, text):
            yield f"{page.relative_to(checkout.root)}:{doc_facts.line_at(text, place)}: {violation}"


def check_sources(checkout):
    """What pages, manual pages among them, say of the sources."""
    sources = doc_facts.Sources(checkout.root)
    for page in [*checkout.pages, *sorted((checkout.root / "docs" / "man").rglob("*.scd"))]:
        name = str(page.relative_to(checkout.root))
        if not fnmatch.fnmatchcase(name, "docs/measurements/*"):
            for line, violation in sorted(doc_facts.check_text(sources, name, page.read_text(encoding="utf-8"))):
                yield f"{name}:{line}: {violation}"
    for name, violation in doc_facts.check_whole(sources):
        yield f"{name}: {violation}"


def check_tree(root):
    """All violations of a checkout, and the number of pages that were read."""
    checkout = Checkout(root)
    if not checkout.pages:
        return [], 0
    found = [violation for page in checkout.pages for violation in check_page(checkout, page)]
    return [*found, *check_index(checkout), *check_words(checkout), *check_sources(checkout)], len(checkout.pages)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    violations, page_count = check_tree(parser.parse_args().root)
    for violation in violations:
        print(violation)
    print(f"{page_count} pages, {len(violations)} violations")
    return 1 if violations or page_count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
