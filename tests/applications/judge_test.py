#!/usr/bin/env python3
"""What applications.py concludes from a report and from Valgrind's log."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from applications import Verdict, judge, read_verdict, table

LOG = """==42== HEAP SUMMARY:
==42==
==42== 1,024 (64 direct, 960 indirect) bytes in 2 blocks are definitely lost in loss record 7 of 9
==42==    at 0x48407B4: malloc (vg_replace_malloc.c:381)
==42==    by 0x109150: lose (small.c:4)
==42==
==42== LEAK SUMMARY:
==42==    definitely lost: 64 bytes in 2 blocks
==42==    indirectly lost: 960 bytes in 10 blocks
==42==      possibly lost: 16 bytes in 1 blocks
==42==    still reachable: 72,704 bytes in 1 blocks
==42==
==42== Invalid free() / delete / delete[] / realloc()
==42== ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 0 from 0)
"""


def count(blocks=0, size=0):
    return {"blocks": blocks, "bytes": size}


def report(definite=None, possible=None, live=10000, bad=0, known=True, scanned=True):
    leaks = {"scanned": scanned, "definite": definite or count(), "indirect": count(), "possible": possible or count()}
    totals = {"live_bytes": live, "bad_frees": bad, "double_frees": 0, "mismatched_frees": 0}
    return {"leaks": leaks, "totals": totals, "capture": {"known": {"leaks": known, "releases": True}}}


def wrong(said, verdict):
    return judge(said, lambda: verdict)[0]


class NoLeaks(unittest.TestCase):
    def test_are_true_where_valgrind_has_none(self):
        self.assertEqual(wrong(report(), Verdict(blocks=5, bytes=600)), [])

    def test_are_untrue_where_valgrind_has_one(self):
        self.assertEqual(wrong(report(), Verdict(blocks=1, definite=1, sites=["8 bytes in 1 blocks: f"])),
                         ["no leaks, by Valgrind 1 blocks definitely lost (8 bytes in 1 blocks: f)"])

    def test_are_not_compared_where_the_program_does_something_else_under_valgrind(self):
        self.assertEqual(wrong(report(), Verdict(blocks=1, definite=1, same=False)), [])

    def test_stand_where_valgrind_cannot_run_it(self):
        self.assertEqual(wrong(report(), None), [])

    def test_are_not_said_where_it_is_not_known(self):
        verdict = Verdict(blocks=1, definite=1)
        self.assertEqual(wrong(report(known=False), verdict), [])
        self.assertEqual(wrong(report(scanned=False), verdict), [])

    def test_are_not_said_of_blocks_that_are_possibly_lost(self):
        self.assertEqual(wrong(report(possible=count(1, 16)), Verdict(blocks=1, definite=1)), [])
        self.assertEqual(len(wrong(report(possible=count(1, 16)), Verdict(blocks=2, definite=2))), 1)


class Accusations(unittest.TestCase):
    def test_hold_where_valgrind_has_as_much(self):
        self.assertEqual(wrong(report(definite=count(10, 100), bad=1), Verdict(blocks=10, releases=1)), [])

    def test_fall_where_valgrind_has_less_or_cannot_run_it(self):
        for verdict in (Verdict(blocks=9), None):
            self.assertEqual(len(wrong(report(definite=count(10, 100), bad=1), verdict)), 2, verdict)

    def test_of_possible_losses_are_few(self):
        self.assertEqual(wrong(report(possible=count(1, 1000), live=200000), None), [])
        self.assertEqual(len(wrong(report(possible=count(9, 9000), live=200000), Verdict())), 1)
        self.assertEqual(wrong(report(possible=count(9, 9000), live=200000), Verdict(bytes=9000)), [])


class Attached(unittest.TestCase):
    def test_what_is_lost_later_is_not_missed(self):
        verdict = Verdict(blocks=1, definite=1)
        self.assertEqual(judge(report(), lambda: verdict, of_whole_run=False)[0], [])
        self.assertEqual(judge(report(possible=count(9, 9000)), lambda: verdict, of_whole_run=False)[0], [])

    def test_accusations_at_the_end_are_compared(self):
        said = report(definite=count(2, 9), bad=1)
        said["leaks"]["scan"] = {"at_end": True}
        self.assertEqual(len(judge(said, lambda: Verdict(blocks=1), of_whole_run=False)[0]), 2)

    def test_bad_releases_alone_are_compared_in_the_middle(self):
        said = report(definite=count(2, 9), bad=1)
        said["leaks"]["scan"] = {"at_end": False}
        self.assertEqual(judge(said, lambda: Verdict(blocks=1), of_whole_run=False)[0], ["1 bad releases, by Valgrind 0"])


class Log(unittest.TestCase):
    def test_is_read(self):
        self.assertEqual(read_verdict(LOG, True), Verdict(
            blocks=13, bytes=1040, definite=2, releases=1,
            sites=["1,024 (64 direct, 960 indirect) bytes in 2 blocks: malloc (vg_replace_malloc.c:381) < lose (small.c:4)"]))

    def test_that_was_cut_off_is_no_verdict(self):
        self.assertIsNone(read_verdict(LOG[:300], True))

    def test_of_a_program_without_blocks_has_nothing_lost(self):
        self.assertEqual(read_verdict("==42== All heap blocks were freed -- no leaks are possible\n==42== ERROR SUMMARY: 0 errors\n", False),
                         Verdict(same=False))


class Table(unittest.TestCase):
    def test_has_a_row_an_application(self):
        said, figures = judge(report(), lambda: None)
        rows = table({"small": {"wrong": said, "agent": figures, "ptrace": figures, "attached": False}}).splitlines()
        self.assertEqual(rows[2:], ["| small | yes | yes | too short | 0 blocks of 0 B, 0 B of 10000, 0 | can't run it | ok |"])


if __name__ == "__main__":
    unittest.main()
