"""What is asked of a trace with a leak scan: suppressions, who holds what, what would go with what, and the gate."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, heaptap


class LeakViews(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.trace = self.directory / "shop.htap"
        outcome = heaptap("run", "-q", "-o", self.trace, "--", built("leak_shop"), cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))

    def text(self, *arguments, status=0):
        outcome = heaptap(*arguments, cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        return (outcome.stdout if status in (0, 1) else outcome.stderr).decode()

    def leaks(self, *options):
        return heaptap_test.read_report(self.text("show", "leaks", "--json", *options, self.trace))

    def lost(self, *options):
        leaks = self.leaks(*options)["leaks"]
        return {kind: leaks[kind]["bytes"] for kind in ("definite", "indirect", "possible", "suppressed")}

    def stack_of(self, function):
        stacks = heaptap_test.read_report(self.text("show", "summary", "--json", self.trace))["stacks"]
        return next(stack["id"] for stack in stacks if any((frame["function"] or "").startswith(function) for frame in stack["frames"])
                    and stack["live_blocks"])

    def test_a_suppression_hides_a_leak_and_what_is_below_it(self):
        file = self.directory / "known.supp"
        file.write_text("leak:reserve\nleak:there_is_no_such_function\n")
        self.assertEqual(self.lost(), {"definite": 160, "indirect": 64, "possible": 0, "suppressed": 0})
        self.assertEqual(self.lost("--suppressions", file), {"definite": 128, "indirect": 0, "possible": 0, "suppressed": 96})
        leaks = self.leaks("--suppressions", file)["leaks"]
        self.assertEqual(leaks["suppressions"], [{"place": f"{file}:1", "text": "leak:reserve", "hidden": {"blocks": 3, "bytes": 96}}])
        self.assertEqual(leaks["unused_suppressions"], [f"{file}:2: leak:there_is_no_such_function"])

    def test_generated_suppressions_hide_what_was_listed(self):
        for syntax in ("--gen-suppressions", "--gen-suppressions=lsan"):
            file = self.directory / "made.supp"
            file.write_text(self.text("show", "leaks", syntax, self.trace))
            self.assertEqual(self.lost("--suppressions", file), {"definite": 0, "indirect": 0, "possible": 0, "suppressed": 224})
            file.write_text(self.text("show", "leaks", syntax, "--function", "print_receipt", self.trace))
            self.assertEqual(self.lost("--suppressions", file), {"definite": 32, "indirect": 64, "possible": 0, "suppressed": 128})
            self.assertEqual(self.text("check", self.trace, "--max-leaked", "96", "--suppressions", file), "ok: leaked 96 B, limit 96 B\n")

    def test_a_run_reads_suppressions_before_the_program_starts(self):
        marker = self.directory / "started"
        missing = heaptap("run", "--suppressions", "none.supp", "--", "/usr/bin/touch", marker, cwd=self.directory)
        self.assertEqual((missing.status, missing.stdout), (2, b""))
        self.assertIn(b"none.supp", missing.stderr)
        self.assertFalse(marker.exists())
        file = self.directory / "known.supp"
        file.write_text("leak:reserve\nleak:print_receipt\n")
        outcome = heaptap("run", "--suppressions", file, "--error-exitcode", "9", "-o", "b.htap", "--", built("leak_shop"), cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn(b"suppressed 224 bytes in 5 blocks", outcome.stderr)

    def test_a_trace_carries_its_suppressions(self):
        file = self.directory / "known.supp"
        file.write_text("leak:reserve\n")
        outcome = heaptap("run", "--suppressions", file, "-o", self.trace, "--force", "--", built("leak_shop"), cwd=self.directory)
        self.assertIn(b"LEAKED 128 bytes in 2 blocks", outcome.stderr)
        self.assertIn(b"suppressed 96 bytes in 3 blocks", outcome.stderr)
        file.unlink()
        self.assertEqual(self.lost(), {"definite": 128, "indirect": 0, "possible": 0, "suppressed": 96})
        self.assertEqual(self.lost("--no-suppressions"), {"definite": 160, "indirect": 64, "possible": 0, "suppressed": 0})
        self.assertEqual(self.text("check", self.trace, "--max-leaked", "128"), "ok: leaked 128 B, limit 128 B\n")
        self.assertIn("leaked 224 B", self.text("check", self.trace, "--max-leaked", "128", "--no-suppressions", status=1))

    def test_why_names_the_way_from_a_variable(self):
        stack = self.stack_of("std::vector<int, std::allocator<int> >")
        holders = self.leaks("--why", f"#{stack}")
        self.assertEqual(holders["format"], "heaptap-holders")
        self.assertEqual(holders["held"]["root"]["name"], "orders")
        self.assertTrue(holders["held"]["root"]["file"].endswith("leak_shop.cc"))
        self.assertEqual(holders["block"]["type"], "std::vector<int>")
        self.assertEqual(holders["held"]["steps"][-1]["block"]["type"], "Order")
        self.assertEqual(holders["of_stack"], holders["same_root"])
        text = self.text("show", "leaks", "--why", holders["block"]["address"], self.trace)
        self.assertIn("global orders (leak_shop.cc:19)\n  -> ", text)

    def test_why_says_below_what_a_block_is_lost(self):
        blocks = heaptap_test.read_report(self.text("show", "blocks", "--json", self.trace))["blocks"]
        seats = sorted(block["number"] for block in blocks if (block["caller"]["function"] or "").startswith("reserve"))
        first, last = (self.leaks("--why", f"#b{number}") for number in (seats[0], seats[-1]))
        self.assertEqual((first["block"]["state"], last["block"]["state"]), ("indirect", "definite"))
        self.assertEqual([step["block"]["number"] for step in first["below"]["steps"]], seats[:0:-1])
        self.assertIsNone(last["below"])
        self.assertIsNone(first["held"])

    def recorded(self, name, source):
        """The trace of a program that is compiled here."""
        file, program, trace = (self.directory / f"{name}{suffix}" for suffix in (".cc", "", ".htap"))
        file.write_text(source)
        self.assertEqual(heaptap_test.run(["g++", "-w", "-g", "-O0", "-fno-builtin", file, "-o", program]).status, 0)
        outcome = heaptap("run", "-o", trace, "--", program, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.ending = outcome.stderr.decode()
        return trace

    def test_a_cycle_of_shared_pointers_is_told(self):
        self.trace = self.recorded("cycle", """
            #include <memory>
            struct Peer { std::shared_ptr<Peer> other; };
            void meet() { auto a = std::make_shared<Peer>(), b = std::make_shared<Peer>(); a->other = b; b->other = a; }
            void clear(char* at) { for (int i = 0; i < 4096; ++i) ((volatile char*)at)[i] = 0; }
            void wipe() { char below[4096]; clear(below); }
            int main() { for (int i = 0; i < 5; ++i) meet(); wipe(); }""")
        report = self.leaks()
        stack = next(each for each in report["stacks"] if each["leaks"]["definite"]["blocks"])
        self.assertEqual(stack["leaks"]["in_cycles"], stack["leaks"]["definite"])
        first, second = stack["leaks"]["cycle"]
        self.assertEqual(self.leaks("--why", f"#b{first}")["cycle"]["steps"][1]["block"]["number"], second)
        self.assertIn(f"      5 blocks in cycles, such as #b{first} -> #b{second} -> #b{first}\n", self.text("show", "leaks", self.trace))
        self.assertRegex(self.ending, r"\n.* 320 bytes in 10 blocks \(in cycles\)  #.*  meet cycle\.cc:4 < main ")
        others = [each for each in report["stacks"] if each is not stack]
        self.assertFalse(any("in_cycles" in each["leaks"] or "cycle" in each["leaks"] for each in others))

    def test_a_list_is_a_cycle_if_it_is_doubly_linked(self):
        self.trace = self.recorded("list", """
            #include <stdlib.h>
            struct Node { Node *next, *before; };
            Node* push(Node* head, bool both) {
              Node* node = (Node*)calloc(1, sizeof(Node));
              node->next = head;
              if (both && head) head->before = node;
              return node;
            }
            void doubly() { Node* head = 0; for (int i = 0; i < 3; ++i) head = push(head, true); }
            void singly() { Node* head = 0; for (int i = 0; i < 3; ++i) head = push(head, false); }
            void clear(char* at) { for (int i = 0; i < 4096; ++i) ((volatile char*)at)[i] = 0; }
            void wipe() { char below[4096]; clear(below); }
            int main() { doubly(); singly(); wipe(); }""")
        found = {self.names(stack)[1]: stack["leaks"] for stack in self.leaks()["stacks"]}
        self.assertEqual({name: leaks.get("in_cycles", {}).get("blocks") for name, leaks in found.items()}, {"doubly()": 1, "singly()": None})
        self.assertIn("      1 block in a cycle: #b", self.text("show", "leaks", self.trace))
        self.assertEqual(self.text("show", "leaks", self.trace).count(" in a cycle"), 1)

    @staticmethod
    def names(stack):
        return [frame["function"] for frame in stack["frames"] if not frame["module"].endswith("libc.so.6")]

    def test_retained_sizes(self):
        types = {entry["type"]: entry for entry in self.leaks("--retained=type")["entries"]}
        self.assertEqual(types["Order"]["own"]["blocks"], 4)
        self.assertEqual(types["Order"]["retained"]["bytes"],
                         sum(types[name]["own"]["bytes"] for name in ("Order", "std::vector<int>", "std::string")))
        blocks = self.leaks("--retained")["entries"]
        self.assertEqual(blocks, sorted(blocks, key=lambda entry: -entry["retained"]["bytes"]))
        globals_ = self.leaks("--globals")
        variables = {entry["variable"]["name"]: entry for entry in globals_["entries"]}
        self.assertEqual(variables["orders"]["retained"]["blocks"], 17)
        self.assertEqual(variables["banner"]["retained"]["bytes"], 8)
        for unit in ("blocks", "bytes"):
            parts = [*(entry["retained"] for entry in globals_["entries"]), globals_["unlisted"], globals_["shared"]]
            self.assertEqual(sum(part[unit] for part in parts), globals_["held"][unit])

    def test_what_two_variables_point_to_is_held_by_both(self):
        self.trace = self.recorded("held", """
            #include <stdlib.h>
            void *g_first[2], *g_index[2];
            int main() {
                g_first[0] = g_index[0] = malloc(1000);
                g_first[1] = malloc(300);
                g_index[1] = malloc(200);
            }""")
        held = self.leaks("--globals")
        variables = {entry["variable"]["name"]: (entry["retained"]["bytes"], entry["direct"]["bytes"]) for entry in held["entries"]}
        self.assertEqual((variables["g_first"], variables["g_index"]), ((300, 1300), (200, 1200)))
        self.assertEqual((held["shared"]["bytes"], [each["name"] for each in held["shared_by"]]), (1000, ["g_first", "g_index"]))
        self.assertIn("(several variables together: g_first, g_index)\n", self.text("show", "leaks", "--globals", self.trace))

    def test_the_gate(self):
        text = self.text("check", self.trace, "--max-leaked", "0", status=1)
        self.assertIn("FAIL: leaked 224 B, limit 0 B\n", text)
        self.assertIn("print_receipt leak_shop.cc:30 < main leak_shop.cc:52", text)
        self.assertEqual(self.text("check", self.trace, "--max-leaked", "1K", "--max-peak", "1M").count("ok: "), 2)
        verdict = heaptap_test.read_report(self.text("check", "--json", self.trace, "--max-allocations", "3", status=1))
        self.assertEqual((verdict["passed"], verdict["limits"][0]["limit"]), (False, "allocations"))
        self.assertEqual(self.text("check", "-q", self.trace, "--max-leaked", "0", status=1), "")
        self.text("check", self.trace, status=2)
        self.text("check", "there-is-none.htap", "--max-leaked", "0", status=125)

    def test_without_a_scan_the_cure_is_named(self):
        heaptap("run", "-q", "--no-leak-scan", "-o", "b.htap", "--", built("leak_shop"), cwd=self.directory)
        gate = heaptap("check", "b.htap", "--max-leaked", "0", cwd=self.directory)
        self.assertEqual(gate.status, 3, str(gate))
        self.assertIn(b"--no-leak-scan", gate.stdout)
        for arguments in (("show", "leaks", "b.htap", "--why", "#1"), ("show", "leaks", "b.htap", "--gen-suppressions"),
                          ("show", "leaks", "b.htap", "--scans")):
            self.assertIn("--no-leak-scan", self.text(*arguments, status=125))


class RepeatedScans(heaptap_test.TestCase):
    def test_what_is_new_still_there_and_gone(self):
        trace = self.directory / "running.htap"
        target = subprocess.Popen([heaptap_test.HEAPTAP, "run", "-q", "-o", trace, "--", built("loses_on_demand")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        target.stdout.readline()
        pid = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()[0]
        for number, words in enumerate((["lose"], ["lose", "hold"], ["drop"]), 1):
            for word in words:
                target.stdin.write(word + "\n")
                target.stdin.flush()
                target.stdout.readline()
            outcome = heaptap("leaks", pid, "-q")
            self.assertEqual(outcome.status, 0, f"scan {number}\n{outcome}")
        target.communicate()
        shown = lambda *options: heaptap_test.read_report(heaptap("show", "leaks", "--json", *options, trace).stdout)
        scans = shown("--scans")["scans"]
        self.assertEqual([scan["definite"]["bytes"] for scan in scans], [100, 200, 300, 300])
        self.assertEqual([scan["at_end"] for scan in scans], [False, False, False, True])
        lost = shown("--since", "2")["lost"]
        self.assertEqual((lost["new"], lost["still_there"], lost["gone"]),
                         ({"blocks": 1, "bytes": 100}, {"blocks": 2, "bytes": 200}, {"blocks": 0, "bytes": 0}))
        self.assertEqual(lost["allocated_since"]["blocks"], 0)  # it was held then
        self.assertEqual(shown("--since", "1", "--scan", "2")["lost"]["new"]["blocks"], 1)
        self.assertEqual(shown("--since", "1")["lost"]["allocated_since"], {"blocks": 2, "bytes": 200})
        block = next(block["number"] for block in heaptap_test.read_report(heaptap("show", "blocks", "--json", trace).stdout)["blocks"][::-1]
                     if block["size"] == 100)
        why = shown("--why", f"#b{block}")
        self.assertEqual(why["block"]["state"], "definite")
        self.assertEqual((why["earlier_scan"], why["earlier"]["root"]["name"]), (2, "held"))
        self.assertEqual(heaptap("show", "leaks", "--since", "4", trace).status, 2)
        self.assertEqual(heaptap("show", "leaks", "--since", "9", trace).status, 2)


if __name__ == "__main__":
    unittest.main()
