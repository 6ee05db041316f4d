"""The GitHub action action.yml: its step is executed as a runner does, with the files that a runner names."""
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import ROOT, build
from github import GitHub
from heaptap_test import HEAPTAP, document_of, run

try:
    import yaml
except ImportError:
    yaml = None

PROGRAM = """\
#include <cstdlib>
#include <cstring>
static void* kept[100];
static int used;
static void grow(int count) { while (count-- > 0) kept[used++] = std::malloc(1000); }
static void lose(int size) { std::memset(std::malloc(size), 1, size); }
int main(int count, char** words) {
  grow(3);
  if (const char* more = std::getenv("MORE")) grow(std::atoi(more));
  if (const char* lost = std::getenv("LOST")) lose(std::atoi(lost));
  if (std::getenv("MISMATCH")) std::free(new int(1));
  return count > 1 ? std::atoi(words[1]) : 0;
}
"""


class Action(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        if yaml is None:
            heaptap_test.skip_what_is_missing("Python has no module yaml")
        cls.action = yaml.safe_load((ROOT / "action.yml").read_text())
        cls.step, cls.upload = cls.action["runs"]["steps"]
        cls.programs = cls.make_class_directory()
        (cls.programs / "shop.cc").write_text(PROGRAM)
        build("g++ -g -O0 -w", cls.programs / "shop.cc", "-o", cls.programs / "shop")

    def setUp(self):
        super().setUp()
        self.environment = {}  # of the action besides
        self.artifacts = self.directory / "artifacts"
        self.artifacts.mkdir()
        shutil.copy(self.programs / "shop", self.directory)

    def replaced(self, text, known):
        """A text of action.yml with its expressions replaced, as a runner does."""
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], str(text))

    def act(self, command="./shop", environment=None, **inputs):
        """Status, output, the action's outputs and the summary of the job."""
        given = {name.replace("_", "-"): value for name, value in inputs.items()} | {"command": command, "heaptap": HEAPTAP}
        self.assertEqual(given.keys() - self.action["inputs"].keys(), set())
        known = {"github.token": "token of the job", "github.repository": "owner/shop"}
        for name, described in self.action["inputs"].items():
            known[f"inputs.{name}"] = given.get(name, self.replaced(described.get("default", ""), known))
        files = {name: self.directory / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        env = {**os.environ, **{name: str(file) for name, file in files.items()}, "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(self.directory),
               "GITHUB_WORKFLOW": "tests", **self.environment, **(environment or {})}
        self.assertEqual((self.action["runs"]["using"], self.step["shell"]), ("composite", "bash"))
        env |= {name: self.replaced(text, known) for name, text in self.step["env"].items()}
        done = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.step["run"]], env=env, cwd=self.directory)
        self.assertNotIn(b"Traceback", done.stderr, str(done))
        of_step = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        outputs = {name: of_step.get(re.fullmatch(rf"\${{{{ steps\.{self.step['id']}\.outputs\.([\w-]+) }}}}", described["value"])[1], "")
                   for name, described in self.action["outputs"].items()}
        self.assertEqual(of_step.keys() - outputs.keys(), set())
        return done.status, done.stdout.decode(), outputs, files["GITHUB_STEP_SUMMARY"].read_text()

    def uploaded(self, outputs):
        """What the action's second step gives to the uploader."""
        paths = self.replaced(self.upload["with"]["path"], {"steps.heaptap.outputs.directory": outputs["directory"]}).split()
        return [pathlib.Path(path) for path in paths]

    def keep(self, number, name, outputs):
        """Keeps the artifact that the action made: without the directory that all of it has in common, as the uploader does."""
        for path in self.uploaded(outputs):
            place = self.artifacts / str(number) / name / path.relative_to(outputs["directory"])
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(path, place) if path.is_dir() else shutil.copy(path, place)

    def test_a_clean_run_passes_and_its_files_are_there(self):
        status, _, outputs, summary = self.act()
        self.assertEqual((status, outputs["verdict"]), (0, "passed"), summary)
        self.assertIn("### heaptap: passed\n", summary)
        self.assertIn("| leaked |  | 0 B |  | 0 B | ok |\n", summary)
        self.assertEqual(pathlib.Path(outputs["comment"]).read_text(), summary)
        self.assertEqual([path.name for path in pathlib.Path(outputs["trace"]).iterdir()], ["trace.htap"])
        self.assertIn("stacks", document_of(pathlib.Path(outputs["report"]).read_text()))

    def test_what_the_artifact_gets_is_there(self):
        status, _, outputs, _ = self.act("./shop", {"LOST": "30"})
        self.assertEqual((status, self.upload["uses"].partition("@")[0]), (1, "actions/upload-artifact"))
        self.assertTrue(self.upload["if"].startswith("always() && "))  # most of all where the gate has failed
        names = [path.name for path in self.uploaded(outputs) if path.exists()]
        self.assertEqual(names, ["traces", "report.html", "comment.md"])

    def test_the_report_may_be_left_out(self):
        self.assertEqual(self.act(report="false")[2]["report"], "")

    def test_a_leak_fails_and_is_told_where_it_is(self):
        status, output, outputs, summary = self.act("./shop 0", {"LOST": "30"})
        self.assertEqual((status, outputs["verdict"]), (1, "failed"), output)
        self.assertIn("| leaked |  | 30 B |  | 0 B | **exceeded** |\n", summary)
        self.assertIn("| leaked | +30 B | `lose(int) shop.cc:6 < main < __libc_start_call_main` |\n", summary)
        self.assertIn("::error title=heaptap%3A definitely lost::30 bytes in 1 block is definitely lost", output)

    def test_known_leaks_pass(self):
        (self.directory / "known.supp").write_text("leak:lose\n")
        (self.directory / "other.supp").write_text("")
        status, output, _, _ = self.act("./shop", {"LOST": "30"}, suppressions="other.supp\nknown.supp\n")
        self.assertEqual(status, 0, output)

    def test_the_commands_own_status_comes_first(self):
        status, _, outputs, summary = self.act("./shop 5")
        self.assertEqual((status, outputs["verdict"]), (5, "passed"))
        self.assertIn("The command failed with exit status 5.", summary)
        status, output, outputs, _ = self.act("/nowhere/shop")
        self.assertEqual((status, outputs["verdict"]), (127, "unknown"), output)
        self.assertIn("::error title=heaptap::heaptap recorded nothing", output)

    def test_what_is_not_known_is_no_pass(self):
        status, output, outputs, summary = self.act(options="--aggregate")
        self.assertEqual((status, outputs["verdict"]), (3, "unknown"), output)
        self.assertIn("| leaked |  |  |  | 0 B | **unknown** |\n", summary)
        status, output, outputs, _ = self.act("sh -c './shop; true'")
        self.assertEqual((status, outputs["verdict"]), (3, "unknown"), output)
        status, output, outputs, _ = self.act("sh -c './shop; true'", options="-f")
        self.assertEqual((status, outputs["verdict"]), (0, "passed"), output)

    def test_invalid_releases(self):
        self.assertEqual(self.act("./shop", {"MISMATCH": "1"})[0], 0)
        status, _, outputs, summary = self.act("./shop", {"MISMATCH": "1"}, sanity="true")
        self.assertEqual((status, outputs["verdict"]), (1, "failed"))
        self.assertIn("| invalid releases |  | 1 |  | 0 | **exceeded** |\n", summary)
        self.assertEqual(self.act(sanity="true")[0], 0)
        self.assertEqual(self.act(sanity="yes")[0], 1)

    def test_growth_over_the_newest_artifact(self):
        if not shutil.which("gh"):
            heaptap_test.skip_what_is_missing("gh is not installed")
        github = GitHub(self.directory, self.artifacts, "token of the job")
        self.addCleanup(github.close)
        self.environment = {**github.environment(), "HOME": str(self.directory)}
        status, output, outputs, summary = self.act(baseline="shop-trace")
        self.assertEqual((status, outputs["verdict"]), (0, "passed"), output)
        self.assertIn("::warning title=heaptap::There is no trace 'shop-trace' to compare with: growth is not judged.", output)
        self.assertIn("There is no trace 'shop-trace' to compare with", summary)
        self.keep(20, "shop-trace", outputs)
        self.keep(10, "shop-trace", self.act("./shop", {"MORE": "90"})[2])
        self.keep(30, "another", outputs)
        self.keep(40, "shop-trace", self.act("./shop", {"MORE": "90"})[2])
        github.failed.add(40)

        status, output, outputs, summary = self.act("./shop", {"MORE": "5"}, baseline="shop-trace", max_growth="leaked=0,live=5%,stack-live=4K")
        self.assertEqual((status, outputs["verdict"]), (1, "failed"), output)
        self.assertRegex(summary, r"\| live \| [\d,]+ B \| [\d,]+ B \| \+5,000 B \| \+5% \| \*\*exceeded\*\* \|\n")
        self.assertRegex(summary, r"\| live, each stack \|.*\| \+5,000 B \| \+4,096 B \| \*\*exceeded\*\* \|\n")
        self.assertIn("| leaked | 0 B | 0 B | +0 B | +0 B | ok |\n", summary)
        self.assertIn("| live | +5,000 B | `grow(int) shop.cc:5 < main < __libc_start_call_main` |\n", summary)
        self.assertEqual(self.act(baseline="shop-trace")[0], 0)
        self.assertEqual(self.act(baseline="shop-trace", baseline_branch="other")[3].count("There is no trace 'shop-trace' to compare with"), 1)
        github.token = "another"
        self.assertEqual(self.act(baseline="shop-trace")[3].count("There is no trace 'shop-trace' to compare with"), 1)
        github.token = "token of the job"

        with self.subTest("a leak that the baseline has is none that grew"):
            self.keep(30, "shop-trace", self.act("./shop", {"LOST": "30"}, baseline="nothing")[2])
            self.assertEqual(self.act("./shop", {"LOST": "30"}, baseline="shop-trace")[0], 0)
            self.assertEqual(self.act("./shop", {"LOST": "40"}, baseline="shop-trace")[0], 1)
            self.assertEqual(self.act("./shop", {"LOST": "30"}, baseline="shop-trace", max_leaked="29")[0], 1)

        with self.subTest("a file"):
            self.assertEqual(self.act("./shop", {"LOST": "40"}, baseline=str(self.artifacts / "30/shop-trace/traces/trace.htap"))[0], 1)

    def test_names_of_functions_are_no_markup(self):
        sys.path.insert(0, str(ROOT / "share/heaptap"))
        self.addCleanup(sys.path.pop, 0)
        import action
        self.assertEqual(action.code("operator|`<b>`\n| x"), "`operator\\|'<b>' \\| x`")
        limit = {"nodes": {"caller": [None, 0, 1], "frame": [None, 1, 0]}, "frames": [{"function": "a", "file": "/x/a.cc", "line": 3}, {"function": None}]}
        self.assertEqual(action.site(limit, {"node": 2}), "a a.cc:3 < ??")
        self.assertEqual(action.site(limit, {"node": 0, "function": "malloc"}), "malloc")


if __name__ == "__main__":
    unittest.main()
