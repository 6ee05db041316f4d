"""The Firefox Profiler's format, read by its profiler-cli."""
import collections
import json
import os
import subprocess

import exported
import node_packages
from exported import heaptap_test, inclusive
from waiting import wait_for

SESSION = "heaptap"

KEYS = {"live bytes": "live_bytes", "bytes at the peak": "peak_bytes", "allocated bytes": "allocated_bytes", "allocations": "allocations",
        "temporary allocations": "temporary_allocations"}


class Firefox(exported.TestCase):
    def setUp(self):
        super().setUp()
        self.program = node_packages.install() / "node_modules/.bin/profiler-cli"
        self.environment = {**os.environ, "HOME": str(self.directory), "PROFILER_CLI_SESSION_DIR": str(self.directory / "sessions")}

    def cli(self, *words):
        return self.read_by("node", self.program, *words, "--session", SESSION, env=self.environment)

    def load(self, file):
        """Starts what holds the profile, and waits until its log says that it does. (`profiler-cli load` starts it as well, and gives
        it half a second: too little where others keep the machine busy. Asking a session that isn't ready removes its files.)"""
        holder = subprocess.Popen(["node", self.program, "--daemon", file, "--session", SESSION], env=self.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(holder.wait)
        self.addCleanup(heaptap_test.end, holder)  # first
        log = self.directory / "sessions" / f"{SESSION}.log"

        def is_loaded():
            self.assertIsNone(holder.poll(), "the profile is not loaded")
            return log.is_file() and "Profile loaded" in log.read_text()

        wait_for("the profile is loaded", is_loaded, state=[holder, log])

    def functions(self, thread):
        listed = json.loads(self.cli("thread", "functions", "--thread", thread, "--limit", "0", "--json"))
        sums = collections.Counter()
        for function in listed["functions"]:  # one of each file that has one of the name
            sums[function["name"]] += function["totalSamples"]
        return sums

    def check(self, trace):
        stacks = self.stacks(trace)
        file = self.export(trace, "firefox", ".json")
        threads = {f"t-{place}": thread["name"] for place, thread in enumerate(json.loads(file.read_text())["threads"])}
        self.load(file)
        for handle, name in threads.items():
            if name not in KEYS:
                continue
            sums = inclusive(stacks, KEYS[name])
            for stack in stacks:  # which is in a stack, too
                sums[stack["function"]] += stack[KEYS[name]]
            self.assertEqual({name: value for name, value in self.functions(handle).items() if value},
                             {name: value for name, value in sums.items() if value}, name)

    def test_each_thread_has_the_reports_numbers_by_function(self):
        self.check(self.record("leak_shop"))

    def test_recursion_counts_once(self):
        self.check(self.record("recursion", "100", "1"))


if __name__ == "__main__":
    exported.main()
