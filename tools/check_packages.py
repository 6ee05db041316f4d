#!/usr/bin/env python3
"""Checks that every header and command that the build, the scripts and the tests use comes with a package of
tools/packages.txt, or with the least that a Debian has. Looked up in this machine's database of packages: what isn't there
although all packages of its group are installed is a violation, too. Prints each; exit status 1 if there is one."""

import ast
import functools
import keyword
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
import page_session  # noqa: E402

# Which groups have to be there for what lies in a directory.
GROUPS = {"src": {"build"}, "demo": {"build", "test"}, "examples": {"build"}, "tests": {"build", "test", "fuzz"}, "bench": {"build", "bench"}}
TEST_GROUPS = {"build", "test"}  # what `./dev test` installs
SCRIPT_GROUPS = {"build", "test", "check", "format", "fuzz", "install", "package", "bench", "release"}
OPTIONAL = {"sudo", "zstd"}  # used only where they are there
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
HEADER_DIRECTORYS = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/c++/12", "/usr/include/x86_64-linux-gnu/c++/12",
                  "/usr/lib/gcc/x86_64-linux-gnu/12/include", "/usr/lib/llvm-19/lib/clang/19/include"]
# Where a command of a shell script begins.
COMMAND = re.compile(r"(?:^|[|;&(!{])\s*(?:(?:!|then|do|else|exec|command -v|xargs|env|sudo|elif|if|while|until)\s+)*"
                     r"((?:/usr/bin/|/bin/)?[a-z][\w.+-]*)(?=[\s;|&)]|$)")
# Calls in Python whose arguments name programs.
CALLS = {"run", "Popen", "check_output", "check_call", "call", "which", "program", "heaptap"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def read_packages(text):
    """The packages of each group, for x86-64."""
    groups = {}
    for line in text.splitlines():
        match = re.match(r"(\w+)(?:@amd64)?:\s*(.*)", line)
        if match:
            groups.setdefault(match[1], set()).update(match[2].split())
    return groups


@functools.cache
def dependencies():
    """Of each installed package those that it can't do without; and the set of those that every Debian has."""
    needs, essential, provided = {}, {"apt"}, {}
    fields = "${Package}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\t${db:Status-Status}\n"
    for line in output_of("dpkg-query", "-W", "-f", fields).splitlines():
        name, priority, wanted, provides, status = line.split("\t")
        if status != "installed":
            continue
        names = [re.sub(r"[\s(:].*", "", choice.strip()) for part in wanted.split(",") for choice in part.split("|")]
        needs.setdefault(name, set()).update(word for word in names if word)
        for word in provides.split(","):
            provided.setdefault(re.sub(r"[\s(].*", "", word.strip()), set()).add(name)
        if priority == "required":
            essential.add(name)
    return needs, essential, provided


def with_dependencies(packages):
    """These packages, what they need, and what every Debian has."""
    needs, essential, provided = dependencies()
    found, queue = set(), [*packages, *essential]
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue += [*needs.get(name, ()), *provided.get(name, ())]
    return found


@functools.cache
def owners():
    """The packages of each file that one installed."""
    found = {}
    for listing in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        package = listing.stem.partition(":")[0]
        for path in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            found.setdefault(path, set()).add(package)
    return found


def owner_of(path):
    """The packages that a file belongs to; none: it was not installed by a package."""
    real = str(pathlib.Path(path).resolve())
    names = [real, path, real.removeprefix("/usr"), path.removeprefix("/usr")]
    return next((owners()[name] for name in names if name in owners()), set())


def header_uses(root, directory):
    for file in sorted((root / directory).rglob("*")):
        if file.suffix in (".h", ".c", ".cc", ".cpp"):
            for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", file.read_text(encoding="utf-8"), re.MULTILINE):
                if not (root / "include" / name).exists():  # the project's own
                    yield name, file


def find_header(name):
    return next((f"{directory}/{name}" for directory in HEADER_DIRECTORYS if pathlib.Path(directory, name).exists()), None)


def commands_in_quotes(quoted):
    return '"" ' + " ".join(re.findall(r"\$\([^()]*\)", quoted[0])) if quoted[0].startswith('"') else '"" '


def script_commands(text):
    """The names in the places of commands, without what the shell has itself and what the script defines."""
    text = re.sub(r"<<-?\s*'?(\w+)'?.*?\n\s*\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)  # what is only printed
    text = re.sub(r"(?<![\w${(\"'])#.*|\\\n\s*", " ", text)
    text = re.sub(r"""'[^']*'|"(?:[^"\\]|\\.)*\"""", commands_in_quotes, text)
    text = re.sub(r"\[\[.*?\]\]|\(\(.*?\)\)|\$\{[^{}$]*\}", " ", text)
    text = re.sub(r"\w+=\$\(", "$(", text)  # the value of a command
    text = re.sub(r"\w+\+?=\([^()]*\)|\w+=\S*", " ", text)  # lists, and other values
    text = re.sub(r"^\s*[\w./* |\"-]+\)\s", " ", text, flags=re.MULTILINE)  # patterns of case
    return {name for line in text.splitlines() for name in COMMAND.findall(line) if "=" not in name}


def defined_names(texts):
    """Functions, and variables where they are declared."""
    functions = {name for text in texts for name in re.findall(r"^\s*(\w+)\(\) ?[{(]", text, re.MULTILINE)}
    declared = {name for text in texts for line in re.findall(r"\b(?:local|read|for|mapfile)\b (.*)", text)
                for name in re.findall(r"[a-z]\w*", line)}
    return functions | {name for name in declared if shutil.which(name, path=SYSTEM_PATH) is None}


def python_words(text):
    """Strings in calls that run programs: names, and the commands of scripts."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in CALLS:
            continue
        lists = [argument.elts for argument in node.args if isinstance(argument, (ast.List, ast.Tuple))]
        for word in [*node.args, *(element for elements in lists for element in elements)]:
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield word.value


def python_commands(text):
    for word in python_words(text):
        if re.fullmatch(r"(?:/usr/bin/|/bin/)?[a-z][\w.+-]*", word):
            yield word
        elif " " in word:
            yield from script_commands(word) - set(keyword.kwlist)  # a script may be Python's


def with_what_is_called(names, text):
    """cmake calls make where nobody names another program that builds."""
    return names | ({"make"} if "cmake" in names and re.search(r"(?<!\S)[\[\"']*-S\b", text) and "-G" not in text else set())


def page_commands(text):
    """Of the sessions in a page that a test runs."""
    steps = page_session.steps_of(text) if page_session.MARK in text else []
    return set().union(*(with_what_is_called(script_commands(step.command), step.command) for step in steps))


def shell_words():
    return set(output_of("bash", "-c", "compgen -bk").split()) | {"time", "coproc"}


def command_uses(root):
    """(name, file, whether it has to be a command: in a script it is, in a test it may be any word)."""
    scripts = [root / "dev", *sorted((root / "tools/dev").glob("*.sh")), *sorted((root / "tools").glob("*.sh")), root / ".ci/run",
               root / "bench/run"]
    texts = {file: file.read_text(encoding="utf-8") for file in scripts if file.is_file()}
    known = shell_words() | defined_names(texts.values())
    for file, text in texts.items():
        if text.startswith("#!") and "python" in text.splitlines()[0]:
            yield from ((name, file, False) for name in python_commands(text))
        else:
            yield from ((name, file, True) for name in script_commands(text) - known)
    for file in sorted([*(root / "tests").rglob("*.py"), *(root / "tools").glob("*.py"), *(root / "bench").rglob("*.py")]):
        text = file.read_text(encoding="utf-8")
        yield from ((name, file, False) for name in with_what_is_called(set(python_commands(text)), text))
    for file in sorted([root / "README.md", *(root / "docs/howto").glob("*.md")]):
        yield from ((name, file, False) for name in page_commands(file.read_text(encoding="utf-8")) - known)


def groups_of(file):
    """Those that are installed where a file's commands run."""
    is_test = file.is_relative_to(ROOT / "tests") or file.name.endswith("_test.py") or file.suffix == ".md"
    return TEST_GROUPS if is_test else SCRIPT_GROUPS


def module_uses(root):
    """Modules that CMake asks pkg-config for."""
    for file in sorted(root.rglob("CMakeLists.txt")):
        if "build" not in file.relative_to(root).parts[0]:
            for words in re.findall(r"pkg_check_modules\(\w+ ([^)]*)\)", file.read_text(encoding="utf-8")):
                yield from ((word, file) for word in words.split() if word.islower())


def place(file):
    return file.relative_to(ROOT)


def packages_of_groups(listed, groups):
    return with_dependencies({name for group in groups for name in listed.get(group, ())})


def are_installed(listed, groups):
    needs, _, provided = dependencies()
    return all(name in needs or name in provided for group in groups for name in listed.get(group, ()))


def check_headers(listed):
    for directory, groups in GROUPS.items():
        if not are_installed(listed, groups):
            continue
        packages = packages_of_groups(listed, groups)
        first_users = {}
        for name, file in header_uses(ROOT, directory):
            first_users.setdefault(name, file)
        for name, file in sorted(first_users.items()):
            user = place(file)
            found = find_header(name)
            if found is None:
                yield f"{user}: no package that is installed here has the header <{name}>"
            elif not owner_of(found) & packages:
                yield f"{user}: <{name}> is of {' or '.join(owner_of(found)) or 'no package'}, which no package of {', '.join(sorted(groups))} brings"


def check_commands(listed):
    packages = {groups: packages_of_groups(listed, groups) for groups in (frozenset(TEST_GROUPS), frozenset(SCRIPT_GROUPS))}
    every_debian = with_dependencies(())
    named = {groups: every_debian.union(*(listed.get(group, ()) for group in groups)) for groups in packages}
    is_whole = are_installed(listed, SCRIPT_GROUPS)
    provided = dependencies()[2]
    seen = {(name, groups) for name in OPTIONAL for groups in packages}
    for name, file, must_exist in command_uses(ROOT):
        groups = frozenset(groups_of(file))
        if (name, groups) in seen:
            continue
        seen.add((name, groups))
        found = shutil.which(name, path=SYSTEM_PATH)
        bringing = f"which no package of {', '.join(sorted(groups))} brings"
        if found is None:
            if must_exist and is_whole:
                yield f"{place(file)}: no package that is installed here has the command {name}"
        elif not owner_of(found) & packages[groups]:
            yield f"{place(file)}: {name} is of {' or '.join(owner_of(found)) or 'no package'}, {bringing}"
        elif owner_of(found) & provided.get(name, set()) and name not in named[groups]:
            yield f"{place(file)}: {name} is of {' or '.join(owner_of(found))} here and a package of its own elsewhere, {bringing}"


def check_modules(listed):
    packages = packages_of_groups(listed, {"build"})
    for name, file in module_uses(ROOT):
        directories = ("/usr/lib/x86_64-linux-gnu/pkgconfig", "/usr/lib/pkgconfig", "/usr/share/pkgconfig")
        found = next((f"{directory}/{name}.pc" for directory in directories if pathlib.Path(directory, name + ".pc").exists()), None)
        if found is None or not owner_of(found) & packages:
            yield f"{place(file)}: no package of build brings the module {name}"


def main():
    if shutil.which("dpkg-query") is None:
        print("no Debian: packages can't be looked up here")
        return 0
    listed = read_packages((ROOT / "tools/packages.txt").read_text(encoding="utf-8"))
    violations = [*check_headers(listed), *check_commands(listed), *check_modules(listed)]
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations; {len(set().union(*listed.values()))} packages are listed")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
