#!/usr/bin/env python3
"""Applications of Debian, bare and recorded by the agent, by ptrace and after an attach: each does the same, and what is said of its
leaks and bad releases is what Valgrind says, too.

applications.py [--install] [--valgrind] [--valgrind-limit S] [--json FILE] [--table FILE] [NAME...]   with the programs under $HEAPTAP;
the last line counts.

  the same      exit status, standard output and files that it makes as bare
  leaks         no block definitely lost of which Valgrind knows nothing; without Valgrind such a block is a failure
  bad releases  none of which Valgrind knows nothing
  possible      possibly lost bytes are at most 1 % of those that are alive at the end (or 1 KiB), or as many as Valgrind's
  no leaks      where nothing is definitely lost, Valgrind has no more definitely lost than is possibly lost, if the program does the same
                under it
"""
import argparse
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from catalogue import CATALOGUE

# glib's slices hide who has a block. heaptap hints it, and Valgrind makes glib do so by itself.
os.environ["G_SLICE"] = "always-malloc"
LIMIT_S = 300
VALGRIND_LIMIT_S = 900
WAYS = ("agent", "ptrace")
ATTACH_TRIES = 10
SHELLS = ("bash", "dash", "sh")
SHARE = 0.01
OTHER_RUN = 1.1  # no two runs of an application are the same
FEW_BYTES = 1024
PROGRAM = """#include <stdio.h>
struct point { int x, y; };
int main(void) { struct point p = {1, 2}; return printf("%d\\n", p.x + p.y) < 0; }
"""
PROGRAM_CC = """#include <map>
#include <string>
#include <vector>
int main(int count, char** words) {
  std::map<std::string, std::vector<int>> places;
  for (int i = 0; i < count; ++i) places[words[i]].push_back(i);
  return static_cast<int>(places.size()) - count;
}
"""
PROGRAM_JAVA = """import java.util.*;
public class Program {
  public static void main(String[] words) {
    Map<Integer, List<String>> places = new TreeMap<>();
    for (int i = 0; i < 20000; ++i) places.computeIfAbsent(i % 500, key -> new ArrayList<>()).add("v" + i);
    long sum = 0;
    for (int round = 0; round < 40; ++round)
      for (List<String> some : places.values())
        for (String each : some) sum += each.hashCode();
    System.out.println(places.size() + " " + sum);
  }
}
"""
PROGRAM_HASKELL = """module Small (total) where
import qualified Data.Map as M
total :: [Int] -> Int
total list = M.foldr (+) 0 (M.fromListWith (+) [(each `mod` 7, each) | each <- list])
"""
PAGE = """<!doctype html><title>A page</title><body style="background: #fff"><h1>Title</h1><script>
const places = []; for (let i = 0; i < 20000; i++) places.push({i}); document.body.append(places.length);</script>
"""


@dataclasses.dataclass
class Outcome:
    status: int
    output: bytes
    made: bytes | None  # the file that it is to make; None: it wasn't made

    def differs(self, other, says_the_same):
        if self.status != other.status:
            return f"status {other.status}, bare {self.status}"
        if says_the_same and self.output != other.output:
            return "another output"
        return "another file" if self.made != other.made else ""


@dataclasses.dataclass
class Verdict:
    """What Valgrind says of the program that heaptap records: lost blocks and bytes of any kind, the blocks definitely lost and where they
    were allocated, errors of releases. same: under Valgrind it did what it does bare."""
    blocks: int = 0
    bytes: int = 0
    definite: int = 0
    releases: int = 0
    same: bool = True
    sites: list = dataclasses.field(default_factory=list)


LOST = re.compile(r"(definitely|indirectly|possibly) lost: ([\d,]+) bytes in ([\d,]+) blocks")
RECORD = re.compile(r"== ([\d,].*bytes in [\d,]+ blocks) are definitely lost in loss record.*\n((?:==\d+==    (?:at|by) .*\n)+)")
SITE_FRAMES = 6


def read_verdict(text, same):
    """None: it didn't come to its end."""
    if "ERROR SUMMARY" not in text:
        return None
    verdict = Verdict(same=same, releases=len(re.findall(r"Invalid free|Mismatched free", text)))
    for kind, size, blocks in LOST.findall(text):
        count = int(blocks.replace(",", ""))
        verdict.bytes += int(size.replace(",", ""))
        verdict.blocks += count
        verdict.definite += count if kind == "definitely" else 0
    for what, frames in RECORD.findall(text):
        verdict.sites.append(f"{what}: {' < '.join(re.findall(r'0x[0-9A-F]+: (.*)', frames)[:SITE_FRAMES])}")
    return verdict


def put_inputs(directory):
    text = "\n".join(f"line {i} of a text, abcd {i * 7919 % 1000} ef{'x' * (i % 40)}" for i in range(5000)) + "\n"
    (directory / "text.txt").write_text(text)
    (directory / "data.csv").write_text("a,b,c\n" + "".join(f"{i},{i * i},{i % 7}\n" for i in range(500)))
    (directory / "page.xml").write_text("<a>" + "".join(f"<b c='{i}'>t</b>" for i in range(500)) + "</a>")
    (directory / "picture.ppm").write_bytes(b"P6 64 64 255\n" + bytes(i * 31 % 256 for i in range(64 * 64 * 3)))
    (directory / "sound.raw").write_bytes(bytes(i * 17 % 256 for i in range(32000)))
    (directory / "program.c").write_text(PROGRAM)
    (directory / "program.cc").write_text(PROGRAM_CC)
    (directory / "Program.java").write_text(PROGRAM_JAVA)
    (directory / "Small.hs").write_text(PROGRAM_HASKELL)
    (directory / "page.html").write_text(PAGE)


class Work:
    """One application: each way in a fresh directory."""

    def __init__(self, application, directory, valgrind_limit_s):
        self.application, self.directory, self.count, self.valgrind_limit_s = application, directory, 0, valgrind_limit_s
        self.bare = self.run()
        self.asked_valgrind = functools.cache(self.valgrind if valgrind_limit_s else lambda: None)

    def words(self):
        return ["bash", "-c", self.application.command]

    def fresh(self):
        self.count += 1
        directory = self.directory / str(self.count)
        directory.mkdir()
        put_inputs(directory)
        return directory

    def start(self, directory, *before, **streams):
        """In a session of its own, so that what it leaves running can be ended with it."""
        return subprocess.Popen([*map(str, before), *self.words()], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, start_new_session=True, **streams)

    def finish(self, process, directory, limit=LIMIT_S):
        try:
            output = process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        made = directory / self.application.makes if self.application.makes else None
        return Outcome(process.returncode, output, made.read_bytes() if made and made.exists() else None)

    def run(self, *before, limit=LIMIT_S):
        directory = self.fresh()
        return self.finish(self.start(directory, *before), directory, limit)

    def recorded(self, via):
        trace = self.directory / f"{via}.htap"
        outcome = self.run(heaptap_test.HEAPTAP, "run", "-q", "--force", "--via", via, "-o", trace, "--")
        return outcome, trace

    def is_itself(self, pid):
        """Whether no shell on the way to it is what the process executes any more."""
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return words[2:3] != [self.application.command.encode()] and (
            self.application.name in SHELLS or os.path.basename(os.readlink(f"/proc/{pid}/exe")) not in SHELLS)

    def has_become_itself(self, process):
        """Waits until it is, where it ever will; False: it has ended."""
        start = time.monotonic()
        try:
            while "exec " in self.application.command and not self.is_itself(process.pid):
                if (waited_s := time.monotonic() - start) > 0.05:
                    time.sleep(0.0005)
                if waited_s > LIMIT_S:
                    raise subprocess.TimeoutExpired(process.args, LIMIT_S)
        except OSError:
            return False
        return True

    def attached(self):
        """Attached to when it has just begun: it is stopped until heaptap is there. None: it had ended before."""
        trace = self.directory / "attach.htap"
        directory = self.fresh()
        process = self.start(directory)
        if not self.has_become_itself(process):
            self.finish(process, directory)
            return None
        os.kill(process.pid, signal.SIGSTOP)
        attach = subprocess.Popen([heaptap_test.HEAPTAP, "attach", "-q", "--force", "--duration", "0.3s", "-o", str(trace),
                                   str(process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while attach.poll() is None and not is_traced(process.pid):
                time.sleep(0.001)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        outcome = self.finish(process, directory)
        return (outcome, trace) if attach.wait(timeout=LIMIT_S) == 0 else None

    def valgrind(self):
        """None: Valgrind can't run it, or not in that time."""
        directory = self.fresh()
        process = self.start(directory, "valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--trace-children=yes",
                             f"--log-file={self.directory}/valgrind.%p.log")
        try:
            outcome = self.finish(process, directory, self.valgrind_limit_s)
        except subprocess.TimeoutExpired:
            return None
        log = self.directory / f"valgrind.{process.pid}.log"
        same = not self.bare.differs(outcome, self.application.says_the_same)
        return read_verdict(log.read_text(errors="replace"), same) if log.exists() else None


def is_traced(pid):
    try:
        return "\nTracerPid:\t0\n" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def judge(report, asked_valgrind, of_whole_run=True):
    """What is wrong with what heaptap says, and the figures. asked_valgrind() is Valgrind's verdict, or None. of_whole_run: what is held
    at the end, and all that is lost until then, can be compared. Of a scan in the middle of a run nothing can: what is lost there may be
    found again (php's functions hold some blocks by pointers behind their ends, and Valgrind has them lost, too, if it ends there)."""
    leaks, totals = report["leaks"], report["totals"]
    known = report["capture"]["known"]["leaks"] and leaks["scanned"]

    def lost(kind, unit):
        return (leaks[kind] or {unit: 0})[unit] if known else 0

    definite = lost("definite", "blocks") + lost("indirect", "blocks")
    possible, possible_blocks = lost("possible", "bytes"), lost("possible", "blocks")
    live = totals["live_bytes"] or 0
    bad = sum(totals[kind] or 0 for kind in ("bad_frees", "double_frees", "mismatched_frees"))
    figures = {"known": known, "definite": definite, "definite_bytes": lost("definite", "bytes") + lost("indirect", "bytes"),
               "possible": possible_blocks, "possible_bytes": possible, "live_bytes": live, "bad_releases": bad}
    wrong = []
    is_at_end = of_whole_run or (leaks.get("scan") or {}).get("at_end", False)
    many_possible = of_whole_run and possible > max(FEW_BYTES, SHARE * live)
    no_leaks = of_whole_run and known and not definite
    if not (definite and is_at_end or bad or many_possible or no_leaks):
        return wrong, figures
    seen = asked_valgrind()
    figures["valgrind"] = seen and dataclasses.asdict(seen)
    if definite and is_at_end and (seen is None or definite > OTHER_RUN * seen.blocks):
        wrong.append(f"{definite} blocks are lost, by Valgrind {seen and seen.blocks}")
    if bad and (seen is None or seen.releases == 0):
        wrong.append(f"{bad} bad releases, by Valgrind {seen and seen.releases}")
    if many_possible and (seen is None or possible > OTHER_RUN * seen.bytes):
        wrong.append(f"{possible} bytes of {live} possibly lost, by Valgrind {seen and seen.bytes}")
    if no_leaks and seen and seen.same and seen.definite > possible_blocks:
        wrong.append(f"no leaks, by Valgrind {seen.definite} blocks definitely lost ({'; '.join(seen.sites)})")
    return wrong, figures


def try_out(application, valgrind_limit_s):
    with tempfile.TemporaryDirectory(prefix="heaptap-application.") as directory:
        work = Work(application, pathlib.Path(directory), valgrind_limit_s)
        if work.bare.differs(work.run(), application.says_the_same):
            return ["it doesn't do the same twice: mend the catalogue"], {}
        if application.makes and work.bare.made is None:
            return [f"it doesn't make {application.makes}: mend the catalogue"], {}
        wrong, figures = [], {}
        for via in WAYS:
            outcome, trace = work.recorded(via)
            if text := work.bare.differs(outcome, application.says_the_same):
                wrong.append(f"{via}: {text}")
            if not trace.exists():
                wrong.append(f"{via}: no trace")
                continue
            found, figures[via] = judge(heaptap_test.summary(trace), work.asked_valgrind)
            wrong += [f"{via}: {text}" for text in found]
        if attached := next(filter(None, (work.attached() for _ in range(ATTACH_TRIES))), None):
            outcome, trace = attached
            if text := work.bare.differs(outcome, application.says_the_same):
                wrong.append(f"attach: {text}")
            found, figures["attach"] = judge(heaptap_test.summary(trace), work.asked_valgrind, of_whole_run=False)
            wrong += [f"attach: {text}" for text in found]
        return wrong, figures


def table(results):
    """As Markdown, a row an application."""
    rows = ["| application | agent | ptrace | attach | heaptap: lost, possibly lost of live bytes, bad releases | Valgrind: lost blocks "
            "(definitely), bytes, bad releases | verdict |", "|---|---|---|---|---|---|---|"]
    for name, result in sorted(results.items()):
        ran = [("yes" if result[via]["known"] else "unknown") if via in result else "no" for via in WAYS]
        said = []
        for via in WAYS:
            figures = result.get(via)
            said.append(f"{figures['definite']} blocks of {figures['definite_bytes']} B, {figures['possible_bytes']} B of "
                        f"{figures['live_bytes']}, {figures['bad_releases']}" if figures else "-")
        asked = next((result[via]["valgrind"] or {} for via in WAYS if "valgrind" in result.get(via, {})), None)
        witness = "not asked" if asked is None else "can't run it" if not asked else \
            f"{asked['blocks']} ({asked['definite']}), {asked['bytes']} B, {asked['releases']}{'' if asked['same'] else '; another output'}"
        rows.append(f"| {name} | {ran[0]} | {ran[1]} | {'yes' if 'attach' in result else 'too short'} | "
                    f"{said[0] if said[0] == said[1] else '; ptrace: '.join(said)} | {witness} | {'; '.join(result['wrong']) or 'ok'} |")
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install what is missing with apt-get")
    parser.add_argument("--valgrind", action="store_true", help="ask Valgrind, too")
    parser.add_argument("--valgrind-limit", type=float, default=VALGRIND_LIMIT_S, metavar="S",
                        help="what takes Valgrind longer is what it can't run (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there, beside those of other applications that it has")
    parser.add_argument("--table", type=pathlib.Path, help="write them there as a table in Markdown")
    parser.add_argument("names", nargs="*", help="some applications; all")
    arguments = parser.parse_args()
    chosen = [each for each in CATALOGUE if not arguments.names or each.name in arguments.names]
    if arguments.install:
        packages = sorted({package for each in chosen for package in each.packages.split()} | {"gcc", "ghostscript"})
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages], check=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    if arguments.valgrind and not shutil.which("valgrind"):
        parser.error("valgrind isn't installed")
    results, failed = {}, 0
    if arguments.json and arguments.json.exists():
        results = json.loads(arguments.json.read_text())
    for application in chosen:
        try:
            wrong, figures = try_out(application, arguments.valgrind and arguments.valgrind_limit)
        except subprocess.TimeoutExpired as error:
            wrong, figures = [f"it took more than {error.timeout:.0f} s"], {}
        failed += bool(wrong)
        results[application.name] = {"wrong": wrong, **figures}
        agent = figures.get("agent", {})
        print(f"{'FAILED' if wrong else 'ok    '}  {application.name:13} "
              f"{'' if agent.get('known', True) else 'unknown '}definite {agent.get('definite')} possible {agent.get('possible_bytes')} "
              f"of {agent.get('live_bytes')}{''.join(f'; {text}' for text in wrong)}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")
        if arguments.table:
            arguments.table.write_text(table(results))
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
