#!/usr/bin/env python3
"""Runs clang-tidy over the project's sources, as many at once as there are cores. A file whose own text, project headers,
flags and .clang-tidy have not changed since it passed is not looked at again, in whichever checkout of this machine that was. Exit
status 1 if a file has a finding.

Where many files are to do, those of a directory are looked at together, as includes of one made-up file: most of the time goes
into what they all include. Where that has findings, its files are looked at one by one, and only what is found so counts.
Unused using-declarations and aliases of namespaces are found only one by one (--together 1).

--changed: only what changed since the last tag, or since the branch left the one it came from; where there is neither, in the last
working day before the last commit. Of a changed header one file that includes it is looked at. No change is one of comments, texts,
includes and namespaces alone, as a move to another directory brings them."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

from check_layers import NO_CODE

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "heaptap" / "tidy"
KEPT_S = 30 * 24 * 3600  # what nobody has asked for so long is removed from there
WORKING_DAY_S = 8 * 3600  # that --changed looks back where nothing says since when
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
UNITY = re.compile(r"/CMakeFiles/[^/]+/Unity/unity_\d+_\w+\.\w+$")
# What only concerns the code that is made, so that such a change means no look at all again; options of GCC that clang does not
DROPPED_OPTIONS = re.compile(r"-O\w|-fPI[CE]|-ffunction-sections|-fdata-sections|-fno-(tree-|gnu-unique|ipa-|partial-inlining|reorder|shrink-wrap|optimize-sibling)\S*"
                             r"|-fstack-usage|-mgeneral-regs-only|-fconserve-stack|-fipa-\S*|-ftree-\S*|-mno-outline-atomics|-Werror\S*")
EXTRA_ARGUMENTS = ["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-Wno-sign-conversion"]


def is_ours(file):
    """Whether a compiled file is the project's own. Test targets show bad behaviour on purpose."""
    path = file.relative_to(ROOT) if file.is_relative_to(ROOT) else None
    return path is not None and path.parts[0] in ("src", "tests", "bench") and path.parts[:2] != ("tests", "targets")


def load_commands(build):
    """File -> compiler arguments for clang, from the build's compile_commands.json; one entry a file."""
    commands = {}
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    # What is compiled a second time, for heaptap-target, is the same to clang-tidy.
    for entry in sorted(entries, key=lambda entry: "heaptap_small" in entry.get("output", entry.get("command", ""))):
        compiled = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        arguments = clang_arguments(entry.get("arguments") or shlex.split(entry["command"]))
        for file in sources_of_unity(compiled) if UNITY.search(str(compiled)) else [compiled]:
            if is_ours(file) and file.suffix in (".cc", ".cpp", ".c"):
                commands.setdefault(file, arguments)
    return commands


def sources_of_unity(unity):
    """The files that are compiled as one, by a file of CMake's that includes them: each by itself, with the whole's flags."""
    if not unity.is_file():
        sys.exit(f"there is no {unity}; configure first")
    return [pathlib.Path(name.decode()).resolve() for name in INCLUDE.findall(unity.read_bytes())]


def clang_arguments(arguments):
    kept = []
    skip_next = False
    for argument in arguments:
        if skip_next:
            skip_next = False
        elif argument in ("-o", "-c", "-include"):  # -include: a precompiled header; each file includes what it uses
            skip_next = True
        elif argument.endswith("/ccache") or argument == "-Winvalid-pch" or DROPPED_OPTIONS.fullmatch(argument):
            continue
        else:
            kept.append(argument)
    return kept + EXTRA_ARGUMENTS


@functools.cache
def digest_and_includes(file):
    """The text's digest, and the project's headers that it includes."""
    text = file.read_bytes()
    found = (header_named(name.decode(), file.parent) for name in INCLUDE.findall(text))
    return hashlib.sha256(text).hexdigest(), [header for header in found if header]


@functools.cache
def header_named(name, directory):
    """The project's header that an include of a file in `directory` means; None for one of the system."""
    for place in (ROOT / "src", ROOT / "include", ROOT / "tests", ROOT, directory):
        if (place / name).is_file():
            return (place / name).resolve()
    return None


@functools.cache
def sources_of(file):
    """The file and all project headers that it includes, directly or not."""
    seen, todo = set(), [file]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo += digest_and_includes(current)[1]
    return sorted(seen)


@functools.cache
def configuration():
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    files = sorted([*ROOT.glob(".clang-tidy"), *ROOT.glob("src/**/.clang-tidy"), *ROOT.glob("tests/**/.clang-tidy")])
    return version + b"".join(str(file.relative_to(ROOT)).encode() + file.read_bytes() for file in files)


def key_of(file, arguments):
    """The same in every checkout, wherever it is."""
    key = hashlib.sha256(configuration())
    key.update("\0".join(arguments).replace(str(ROOT), ".").encode())
    for source in sources_of(file):
        key.update(str(source.relative_to(ROOT)).encode() + digest_and_includes(source)[0].encode())
    return key.hexdigest()


def tidy(file, arguments):
    """The findings for one file; empty when there are none."""
    command = [TIDY, "--quiet", "--warnings-as-errors=*", f"--config-file={ROOT}/.clang-tidy", str(file), "--", *arguments[1:]]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if run.returncode == 0:
        return ""
    return run.stdout + "\n".join(line for line in run.stderr.splitlines() if "warnings generated" not in line)


def git(*arguments):
    """What it prints; empty where it fails."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=ROOT).stdout.strip()


def last_release():
    """The commit since which --changed looks."""
    head = git("rev-parse", "HEAD")
    if tag := git("describe", "--tags", "--abbrev=0"):
        return tag
    for branch in ("origin/HEAD", "origin/main"):
        base = git("merge-base", "HEAD", branch)
        if base and base != head:
            return base
    time = git("show", "--no-patch", "--format=%ct", "HEAD")
    return git("rev-list", "--first-parent", "--max-count=1", f"--before={int(time) - WORKING_DAY_S}", "HEAD") if time else ""


def changed_among(files):
    """Those of the files that changed, and for each header that changed one that includes it."""
    base = last_release()
    if not base:
        return set(files)
    names = git("ls-files", "--others", "--exclude-standard").split("\n")
    for line in git("diff", "--name-status", "--find-renames=30%", "-l20000", base).split("\n"):
        status, *paths = line.split("\t")
        if paths and not (status[0] in "MR" and has_same_code(git("show", f"{base}:{paths[0]}"), ROOT / paths[-1])):
            names.append(paths[-1])
    changed = {(ROOT / name).resolve() for name in names if name}
    if any(path.name == ".clang-tidy" for path in changed):
        return set(files)
    chosen = changed & set(files)
    for header in sorted(path for path in changed if path.suffix == ".h" and path.is_file()):
        own = header.with_suffix(".cc")
        users = [own] if own in files else [file for file in sorted(files) if header in sources_of(file)]
        if not chosen & set(users):
            chosen.update(users[:1])
    return chosen


# Where code is: includes, namespaces, spaces.
PLACED = re.compile(r"^\s*#\s*include\b[^\n]*|\bnamespace [\w:]+|\busing (?:namespace )?[\w:]+;|\b[a-z_]\w*::|\s+", re.MULTILINE)


def has_same_code(before, file):
    """Whether a source file's code is what it was, apart from comments, texts, includes and namespaces."""
    if file.suffix not in (".h", ".cc", ".cpp", ".c") or not file.is_file():
        return False
    return code_of(before) == code_of(file.read_text(encoding="utf-8", errors="replace"))


def code_of(text):
    return re.sub('(?:"")+', '""', PLACED.sub("", NO_CODE.sub(without_words, text)))


def without_words(found):
    """A string without its text, nothing for a comment, a character as it is."""
    if found.group().startswith(('"', 'R"')):
        return '""'
    return found.group() if found.group().startswith("'") else " "


def groups_of(files, commands, most):
    """Lists of files that can be compiled alike, of a directory each and about equally long."""
    alike = {}
    for file in sorted(files):
        flags = tuple(word for word in commands[file] if pathlib.Path(word).name != file.name)
        alike.setdefault((file.parent, file.suffix, flags), []).append(file)
    for (_, suffix, flags), members in alike.items():
        parts = -(-len(members) // most)
        for part in range(parts):
            yield members[part::parts], suffix, flags


def written_group(directory, files, suffix):
    group = pathlib.Path(directory) / f"group{suffix}"
    group.write_text("".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in files))
    return group


def clashing(group, files, flags):
    """The files that don't compile behind the others: they define the same names for themselves."""
    compiler = "clang-19" if group.suffix == ".c" else "clang++-19"
    run = subprocess.run([compiler, "-fsyntax-only", "-w", "-ferror-limit=0", *flags[1:], str(group)],
                         capture_output=True, text=True, cwd=ROOT)
    named = {line.partition(":")[0] for line in run.stderr.splitlines() if " error: " in line}
    if run.returncode != 0 and not named & {*map(str, files)}:
        return files
    return [file for file in files if str(file) in named]


def tidy_group(files, suffix, flags, commands):
    """File -> its findings."""
    if len(files) == 1:
        return {files[0]: tidy(files[0], commands[files[0]])}
    with tempfile.TemporaryDirectory(prefix="heaptap-tidy-") as directory:
        group = written_group(directory, files, suffix)
        out = clashing(group, files, flags)
        if len(out) == len(files):
            return {file: tidy(file, commands[file]) for file in files}
        together = [file for file in files if file not in out]
        group = written_group(directory, together, suffix)
        found = bool(tidy(group, flags))
    results = {file: tidy(file, commands[file]) if found else "" for file in together}
    return results | (tidy_group(out, suffix, flags, commands) if out else {})


def is_marked(mark):
    """Whether a file has passed as it is. The mark is kept for longer then."""
    try:
        os.utime(mark)
    except FileNotFoundError:
        return False
    return True


def forget(cache):
    for mark in cache.iterdir():
        if mark.stat().st_mtime < time.time() - KEPT_S:
            mark.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--together", type=int, default=0, metavar="MOST",
                        help="files that are looked at together; default: 1, or 9 where more than 24 are to do")
    parser.add_argument("--changed", action="store_true", help="only what changed since the last tag or the branch's begin")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="default: all of the build")
    options = parser.parse_args()
    if not (options.build / "compile_commands.json").is_file():
        sys.exit(f"there is no {options.build}/compile_commands.json; configure first")
    commands = load_commands(options.build)
    if options.changed:
        chosen = changed_among(commands)
        commands = {file: arguments for file, arguments in commands.items() if file in chosen}
    if options.files:
        commands = {file.resolve(): commands[file.resolve()] for file in options.files}

    options.cache.mkdir(parents=True, exist_ok=True)
    marks = {file: options.cache / key_of(file, arguments) for file, arguments in commands.items()}
    todo = [file for file, mark in marks.items() if not is_marked(mark)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        most = options.together or (9 if len(todo) > 24 else 1)
        groups = sorted(groups_of(todo, commands, most), key=lambda group: -len(group[0]))
        for results in pool.map(lambda group: tidy_group(*group, commands), groups):
            for file, findings in results.items():
                if findings:
                    failed += 1
                    print(findings, flush=True)
                else:
                    marks[file].touch()
    forget(options.cache)
    print(f"{len(commands)} files, {len(commands) - len(todo)} of them unchanged, {failed} with findings")
    return 1 if failed or not (commands or options.changed) else 0


if __name__ == "__main__":
    sys.exit(main())
