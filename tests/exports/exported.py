"""What the tests of exports share: a trace of a target program, what heaptap says of it, and its exports."""
import collections
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, heaptap

MAPPING = {"mmap", "mmap64", "mremap"}


class TestCase(heaptap_test.TestCase):
    def record(self, target, *arguments, options=()):
        trace = self.directory / f"{target}.htap"
        outcome = heaptap("run", "-q", *options, "-o", trace, "--", built(target), *arguments, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return trace

    def report(self, trace):
        outcome = heaptap("show", "summary", "--json", trace)
        self.assertEqual(outcome.status, 0, str(outcome))
        return heaptap_test.read_report(outcome.stdout)

    def stacks(self, trace):
        return [stack for stack in self.report(trace)["stacks"] if stack["function"] not in MAPPING]

    def export(self, trace, form, extension, *options):
        file = self.directory / f"{trace.stem}{extension}"
        outcome = heaptap("export", "--to", form, "-o", file, "--force", *options, trace)
        self.assertEqual(outcome.status, 0, str(outcome))
        return file

    def read_by(self, *command, **options):
        """What the reader of a format prints."""
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=120, cwd=self.directory, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        return done.stdout.decode()


def name_of(frame):
    return frame["function"] or f"{pathlib.Path(frame['module']).name}+{frame['offset']}"


def inclusive(stacks, key):
    """By function: the sum over the stacks that it is in."""
    sums = collections.Counter()
    for stack in stacks:
        for name in {name_of(frame) for frame in stack["frames"]}:
            sums[name] += stack[key]
    return sums


def main():
    heaptap_test.unittest.main()
