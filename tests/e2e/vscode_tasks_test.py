"""share/heaptap/vscode-tasks.json: its task's command prints what its problem matcher reads."""
import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import ROOT, build
from heaptap_test import HEAPTAP, run

PROGRAM = """\
#include <cstdlib>
int main(int count, char**) {
  int* volatile number = new int(1);
  std::free(number);
  if (count > 1) number = static_cast<int*>(std::malloc(77));
  number = nullptr;
}
"""


class Tasks(heaptap_test.TestCase):
    def test_each_finding_is_a_problem_at_its_line(self):
        tasks = json.loads((ROOT / "share/heaptap/vscode-tasks.json").read_text())
        (task,) = tasks["tasks"]
        (self.directory / "src").mkdir()
        (self.directory / "src/shop.cc").write_text(PROGRAM)
        build("g++ -g -O0 -w", self.directory / "src/shop.cc", "-o", self.directory / "shop")
        env = {**os.environ, "PATH": f"{pathlib.Path(HEAPTAP).parent}:{os.environ['PATH']}"}
        done = run(["sh", "-c", task["command"].replace("${input:command}", "./shop lose")], cwd=self.directory, env=env)
        self.assertEqual((done.status, done.stderr), (0, b""), str(done))
        matcher = task["problemMatcher"]["pattern"]
        found = [re.match(matcher["regexp"], line) for line in done.stdout.decode().splitlines()]
        self.assertNotIn(None, found, str(done))
        problems = [{name: match[group] for name, group in matcher.items() if name != "regexp"} for match in found]
        calls = [PROGRAM.splitlines()[int(problem["line"]) - 1][int(problem.pop("column")) - 1:] for problem in problems]
        self.assertTrue(calls[0].startswith(("std::free(", "free(", "(")), calls)
        self.assertTrue(calls[1].startswith(("std::malloc(", "malloc(", "(")), calls)
        self.assertRegex(problems[1].pop("code"), r"^#\d+$")
        self.assertEqual(problems, [
            {"severity": "error", "file": "src/shop.cc", "line": "4", "code": "mismatched-free",
             "message": "free of a block of another family, 4 bytes by operator new"},
            {"severity": "error", "file": "src/shop.cc", "line": "5",
             "message": "77 bytes in 1 block is definitely lost, allocated by malloc"},
        ])


if __name__ == "__main__":
    unittest.main()
