"""The format of DHAT, opened in the page that comes with Valgrind, dh_view.html."""
import json
import re

import exported
import node_packages

PAGE = "/usr/libexec/valgrind/dh_view.html"


class Dhat(exported.TestCase):
    def opened(self, file):
        page = json.loads(node_packages.run("open_page.mjs", PAGE, file, "t-end:"))
        self.assertEqual(page["errors"], [])
        return page["text"]

    def test_the_page_shows_the_totals_of_the_report(self):
        trace = self.record("leak_shop")
        file = self.export(trace, "dhat", ".json")
        totals = self.report(trace)["totals"]
        text = self.opened(file)
        for label, size in (("Total", "allocated_bytes"), ("At t-gmax", "peak_live_bytes"), ("At t-end", "live_bytes")):
            self.assertRegex(text, rf"{label}: +{totals[size]:,} bytes")
        self.assertRegex(text, rf"Total:.* in {totals['allocations']:,} blocks")
        self.assertRegex(text, rf"At t-end:.* in {totals['live_blocks']:,} blocks")
        self.assertIn("take_order", text)

    def test_each_stack_held_at_the_peak_what_the_report_says(self):
        for target, arguments in (("leak_shop", ()), ("recursion", ("100", "1"))):
            trace = self.record(target, *arguments)
            points = json.loads(self.export(trace, "dhat", ".json").read_text())["pps"]
            self.assertEqual(sorted((point["tb"], point["gb"], point["eb"]) for point in points),
                             sorted((stack["allocated_bytes"], stack["peak_bytes"], stack["live_bytes"]) for stack in self.stacks(trace)))
            for point in points:
                self.assertGreaterEqual(point["mb"], max(point["gb"], point["eb"]))
                self.assertGreaterEqual(point["tb"], point["mb"])

    def test_of_totals_only_what_was_allocated_is_shown(self):
        trace = self.record("leak_shop", options=["--aggregate"])
        text = self.opened(self.export(trace, "dhat", ".json"))
        self.assertRegex(text, rf"Total: +{self.report(trace)['totals']['allocated_bytes']:,} bytes")
        self.assertIsNone(re.search("At t-gmax: ", text))


if __name__ == "__main__":
    exported.main()
