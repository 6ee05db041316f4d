"""The format of callgrind, read by callgrind_annotate."""
import re

import exported
from exported import inclusive

EVENTS = {"LiveBytes": "live_bytes", "LiveBlocks": "live_blocks", "PeakBytes": "peak_bytes", "AllocatedBytes": "allocated_bytes",
          "Allocations": "allocations", "Temporary": "temporary_allocations"}


class Callgrind(exported.TestCase):
    def annotated(self, file, event, inclusive):
        """The total, and the costs by function, as callgrind_annotate prints them."""
        text = self.read_by("callgrind_annotate", f"--show={event}", f"--sort={event}", "--threshold=100", "--show-percs=no", "--auto=no",
                            f"--inclusive={'yes' if inclusive else 'no'}", file)
        rows = [(int(number.replace(",", "")), rest) for number, rest in re.findall(r"^ *([\d,]+) +(\S.*)$", text, re.MULTILINE)]
        total = next(number for number, rest in rows if rest.startswith("PROGRAM TOTALS"))
        functions = {}
        for number, rest in rows:
            found = re.match(r"(?:\?\?\?|[^:]*):(.*?)(?: \[[^\]]*\])?$", rest)
            if found:
                functions[found[1]] = functions.get(found[1], 0) + number
        return total, functions

    def check(self, trace):
        file = self.export(trace, "callgrind", ".callgrind")
        stacks = self.stacks(trace)
        for event, key in EVENTS.items():
            total, functions = self.annotated(file, event, True)
            self.assertEqual(total, sum(stack[key] for stack in stacks), event)
            expected = {name: value for name, value in inclusive(stacks, key).items() if value}
            shown = {name: value for name, value in functions.items() if value and name != "(all stacks)"}
            self.assertEqual(shown, expected, event)

    def test_inclusive_costs_are_the_sums_of_the_stacks_through_a_function(self):
        self.check(self.record("leak_shop"))

    def test_recursion_counts_once(self):
        trace = self.record("recursion", "100", "1")
        self.check(trace)
        _, functions = self.annotated(self.export(trace, "callgrind", ".callgrind"), "Allocations", True)
        self.assertEqual(functions["recurse"], 100)

    def test_own_costs_are_those_of_the_callers_of_allocating_functions(self):
        trace = self.record("inlined_frames")
        _, functions = self.annotated(self.export(trace, "callgrind", ".callgrind"), "AllocatedBytes", False)
        self.assertEqual(functions["inlined_inner"], 200)

    def test_what_is_not_known_is_no_column(self):
        trace = self.record("leak_shop", options=["--aggregate", "--no-leak-scan"])
        events = re.search(r"^events: (.*)$", self.export(trace, "callgrind", ".callgrind").read_text(), re.MULTILINE)[1].split()
        self.assertIn("LiveBytes", events)
        self.assertNotIn("PeakBytes", events)
        self.assertNotIn("LeakedBytes", events)


if __name__ == "__main__":
    exported.main()
