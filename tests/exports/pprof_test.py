"""The format of pprof, read by `go tool pprof`."""
import os
import re

import exported
from exported import inclusive

TYPES = {"alloc_objects/count": "allocations", "alloc_space/bytes": "allocated_bytes", "inuse_objects/count": "live_blocks",
         "inuse_space/bytes": "live_bytes", "peak_space/bytes": "peak_bytes", "temporary_objects/count": "temporary_allocations"}


class Pprof(exported.TestCase):
    def pprof(self, *options):
        environment = {**os.environ, "HOME": str(self.directory), "PPROF_TMPDIR": str(self.directory), "GOFLAGS": "", "GOTOOLCHAIN": "local"}
        return self.read_by("go", "tool", "pprof", "-symbolize=none", *options, env=environment)

    def test_each_type_sums_up_to_what_the_report_says(self):
        trace = self.record("leak_shop")
        raw = self.pprof("-raw", self.export(trace, "pprof", ".pb.gz"))
        types = re.search(r"^Samples:\n(.*)$", raw, re.MULTILINE)[1].replace("[dflt]", "").split()
        self.assertEqual(types[:4], list(TYPES)[:4])
        self.assertIn("inuse_space/bytes[dflt]", raw)
        samples = [[int(number) for number in line.split()] for line in re.findall(r"^ +([\d ]+): [\d ]+$", raw, re.MULTILINE)]
        stacks = self.stacks(trace)
        self.assertEqual(len(samples), len(stacks))
        for name, key in TYPES.items():
            self.assertEqual(sum(sample[types.index(name)] for sample in samples), sum(stack[key] for stack in stacks), name)

    def test_inclusive_costs_are_the_sums_of_the_stacks_through_a_function(self):
        for target, arguments in (("leak_shop", ()), ("recursion", ("100", "1"))):
            trace = self.record(target, *arguments)
            top = self.pprof("-top", "-cum", "-unit=B", "-nodefraction=0", "-nodecount=100000", "-sample_index=alloc_space",
                             "-functions", self.export(trace, "pprof", ".pb.gz"))
            stacks = self.stacks(trace)
            self.assertIn(f" {sum(stack['allocated_bytes'] for stack in stacks)}B total", top)
            shown = {}
            for cumulated, name in re.findall(r"^ *\S+ +\S+ +\S+ +(\d+)B? +\S+ +(.*)$", top, re.MULTILINE):
                shown[name.replace(" (inline)", "")] = int(cumulated)
            for name, value in inclusive(stacks, "allocated_bytes").items():
                if re.fullmatch(r"\w+", name) and value:  # pprof shortens what C++ names have in brackets
                    self.assertEqual(shown[name], value, name)

    def test_inlined_frames_are_lines_of_one_location(self):
        raw = self.pprof("-raw", self.export(self.record("inlined_frames"), "pprof", ".pb.gz"))
        self.assertRegex(raw, r"M=1 inlined_inner \S+:\d+:?\d* s=0.*\n +inlined_outer \S+:\d+:?\d* s=0.*\n +holder ")

    def test_the_first_mapping_is_the_program_with_its_build_id(self):
        trace = self.record("leak_shop")
        raw = self.pprof("-raw", self.export(trace, "pprof", ".pb.gz"))
        first = re.search(r"^Mappings\n1: (.*)$", raw, re.MULTILINE)[1]
        program = exported.built("leak_shop")
        notes = self.read_by("readelf", "-n", program)
        self.assertIn(str(program), first)
        self.assertIn(re.search(r"Build ID: (\w+)", notes)[1], first)

    def test_what_is_not_known_is_no_type(self):
        trace = self.record("leak_shop", options=["--aggregate", "--no-leak-scan"])
        raw = self.pprof("-raw", self.export(trace, "pprof", ".pb.gz"))
        self.assertIn("inuse_space/bytes[dflt]", raw)
        self.assertNotIn("peak_space", raw)
        self.assertNotIn("leaked_space", raw)


if __name__ == "__main__":
    exported.main()
