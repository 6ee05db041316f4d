"""The format of speedscope: as its schema says, and opened in its page."""
import json

import exported
import node_packages
from exported import name_of

KEYS = {"live bytes": "live_bytes", "bytes at the peak": "peak_bytes", "allocated bytes": "allocated_bytes", "allocations": "allocations",
        "temporary allocations": "temporary_allocations"}


class Speedscope(exported.TestCase):
    def setUp(self):
        super().setUp()
        self.release = node_packages.install() / "node_modules/speedscope/dist/release"

    def test_profiles_are_as_the_schema_says_and_sum_up_to_the_report(self):
        trace = self.record("leak_shop")
        file = self.export(trace, "speedscope", ".json")
        node_packages.run("check_schema.mjs", self.release / "file-format-schema.json", file)
        content = json.loads(file.read_text())
        frames = content["shared"]["frames"]
        profiles = {profile["name"]: profile for profile in content["profiles"]}
        for name, key in KEYS.items():
            shown = sorted((tuple(frames[place]["name"] for place in sample), weight)
                           for sample, weight in zip(profiles[name]["samples"], profiles[name]["weights"]))
            expected = sorted(((*(name_of(frame) for frame in reversed(stack["frames"])), stack["function"]), stack[key])
                              for stack in self.stacks(trace) if stack[key])
            self.assertEqual(shown, expected, name)
        leaks = self.report(trace)["leaks"]
        self.assertEqual(sum(profiles["leaked bytes"]["weights"]), leaks["definite"]["bytes"] + leaks["indirect"]["bytes"])

    def test_the_page_opens_it(self):
        file = self.export(self.record("leak_shop"), "speedscope", ".json")
        page = json.loads(node_packages.run("open_page.mjs", self.release / "index.html", file, "live bytes"))
        self.assertIn("leak_shop", page["title"])


if __name__ == "__main__":
    exported.main()
