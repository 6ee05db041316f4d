#!/usr/bin/env python3
"""Applications of Debian, bare and recorded by the agent, by ptrace and after an attach: each does the same, and what is said of its
leaks and bad releases is what Valgrind says, too.

applications.py [--install] [--valgrind] [--json FILE] [NAME...]   with the programs under $HEAPTAP; the last line counts.

  the same      exit status and standard output as bare
  leaks         no block definitely lost of which Valgrind knows nothing; without Valgrind such a block is a failure
  bad releases  none of which Valgrind knows nothing
  possible      possibly lost bytes are at most 1 % of those that are alive at the end (or 1 KiB), or as many as Valgrind's
"""
import argparse
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
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


@dataclasses.dataclass
class Outcome:
    status: int
    output: bytes

    def differs(self, other, says_the_same):
        if self.status != other.status:
            return f"status {other.status}, bare {self.status}"
        return "another output" if says_the_same and self.output != other.output else ""


def put_inputs(folder):
    text = "\n".join(f"line {i} of a text, abcd {i * 7919 % 1000} ef{'x' * (i % 40)}" for i in range(5000)) + "\n"
    (folder / "text.txt").write_text(text)
    (folder / "data.csv").write_text("a,b,c\n" + "".join(f"{i},{i * i},{i % 7}\n" for i in range(500)))
    (folder / "page.xml").write_text("<a>" + "".join(f"<b c='{i}'>t</b>" for i in range(500)) + "</a>")
    (folder / "picture.ppm").write_bytes(b"P6 64 64 255\n" + bytes(i * 31 % 256 for i in range(64 * 64 * 3)))
    (folder / "sound.raw").write_bytes(bytes(i * 17 % 256 for i in range(32000)))
    (folder / "program.c").write_text(PROGRAM)
    (folder / "program.cc").write_text(PROGRAM_CC)
    (folder / "Program.java").write_text(PROGRAM_JAVA)


class Work:
    """One application: each way in a fresh folder."""

    def __init__(self, application, folder):
        self.application, self.folder, self.count = application, folder, 0
        self.asked_valgrind = functools.cache(self.valgrind)

    def words(self):
        return ["bash", "-c", self.application.command]

    def fresh(self):
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        put_inputs(folder)
        return folder

    def run(self, *before, limit=LIMIT_S):
        ran = subprocess.run([*map(str, before), *self.words()], cwd=self.fresh(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
        return Outcome(ran.returncode, ran.stdout), ran.stderr.decode(errors="replace")

    def recorded(self, via):
        trace = self.folder / f"{via}.htap"
        outcome, _ = self.run(heaptap_test.HEAPTAP, "run", "-q", "--force", "--via", via, "-o", trace, "--")
        return outcome, trace

    def attached(self):
        """None: it had ended before heaptap was there."""
        trace = self.folder / "attach.htap"
        process = subprocess.Popen(self.words(), cwd=self.fresh(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        time.sleep(0.05)
        attach = subprocess.run([heaptap_test.HEAPTAP, "attach", "-q", "--force", "--duration", "0.3s", "-o", str(trace),
                                 str(process.pid)], capture_output=True, timeout=LIMIT_S, check=False)
        output = process.communicate(timeout=LIMIT_S)[0]
        return Outcome(process.returncode, output) if attach.returncode == 0 else None

    def valgrind(self):
        """What Valgrind says of all programs that it saw end: lost blocks and bytes of any kind, errors of releases; None: it can't."""
        log = self.folder / "valgrind.%p.log"
        try:
            self.run("valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--trace-children=yes",
                     f"--log-file={log}", limit=VALGRIND_LIMIT_S)
        except (OSError, subprocess.TimeoutExpired):
            return None
        seen = dict.fromkeys(("blocks", "bytes", "releases"), 0)
        texts = [path.read_text(errors="replace") for path in self.folder.glob("valgrind.*.log")]
        for text in texts:
            for size, blocks in re.findall(r"(?:definitely|indirectly|possibly) lost: ([\d,]+) bytes in ([\d,]+) blocks", text):
                seen["bytes"] += int(size.replace(",", ""))
                seen["blocks"] += int(blocks.replace(",", ""))
            seen["releases"] += len(re.findall(r"Invalid free|Mismatched free", text))
        return seen if texts else None


def judge(work, trace, with_valgrind):
    """What is wrong with what heaptap says, and the figures."""
    report = heaptap_test.summary(trace)
    leaks, totals = report["leaks"], report["totals"]
    known = report["capture"]["known"]["leaks"] and leaks["scanned"]
    definite = (leaks["definite"] or {"blocks": 0})["blocks"] + (leaks["indirect"] or {"blocks": 0})["blocks"] if known else 0
    possible = (leaks["possible"] or {"bytes": 0})["bytes"] if known else 0
    live = totals["live_bytes"] or 0
    bad = sum(totals[kind] or 0 for kind in ("bad_frees", "double_frees", "mismatched_frees"))
    figures = {"known": known, "definite": definite, "possible_bytes": possible, "live_bytes": live, "bad_releases": bad}
    wrong = []
    many_possible = possible > max(FEW_BYTES, SHARE * live)
    if not (definite or bad or many_possible):
        return wrong, figures
    seen = work.asked_valgrind() if with_valgrind else None
    figures["valgrind"] = seen
    if definite and (seen is None or definite > OTHER_RUN * seen["blocks"]):
        wrong.append(f"{definite} blocks are lost, by Valgrind {seen and seen['blocks']}")
    if bad and (seen is None or seen["releases"] == 0):
        wrong.append(f"{bad} bad releases, by Valgrind {seen and seen['releases']}")
    if many_possible and (seen is None or possible > OTHER_RUN * seen["bytes"]):
        wrong.append(f"{possible} bytes of {live} possibly lost, by Valgrind {seen and seen['bytes']}")
    return wrong, figures


def try_out(application, with_valgrind):
    with tempfile.TemporaryDirectory(prefix="heaptap-application.") as folder:
        work = Work(application, pathlib.Path(folder))
        bare, _ = work.run()
        if application.says_the_same and work.run()[0].output != bare.output:
            return ["it doesn't say the same twice: mend the catalogue"], {}
        wrong, figures = [], {}
        for via in ("agent", "ptrace"):
            outcome, trace = work.recorded(via)
            if text := bare.differs(outcome, application.says_the_same):
                wrong.append(f"{via}: {text}")
            if not trace.exists():
                wrong.append(f"{via}: no trace")
                continue
            found, figures[via] = judge(work, trace, with_valgrind)
            wrong += [f"{via}: {text}" for text in found]
        attached = work.attached()
        figures["attached"] = attached is not None
        if attached and (text := bare.differs(attached, application.says_the_same)):
            wrong.append(f"attach: {text}")
        return wrong, figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install what is missing with apt-get")
    parser.add_argument("--valgrind", action="store_true", help="ask Valgrind where heaptap says that something is lost or bad")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there")
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
    for application in chosen:
        try:
            wrong, figures = try_out(application, arguments.valgrind)
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
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
