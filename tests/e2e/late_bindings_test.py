"""Where a program is started without the C++ library, each object gets the operators that the loader names (LD_DEBUG=bindings)."""
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import TARGETS, TARGET_SOURCES

BINDING = re.compile(r"binding file \S*?(?:lib)?(\w[^/ ]*?)\.so\S* \[0\] to \S*?(?:lib)?(\w[^/ ]*?)\.so\S* \[0\]: "
                     r"normal symbol `(_Znwm|_ZdlPv)'")


class LateBindings(heaptap_test.TestCase):
    def test_operators_are_those_that_the_loader_names(self):
        program = TARGETS / "late_bindings"
        env = {**os.environ, "LD_LIBRARY_PATH": str(TARGETS)}
        runs = expectations.read(TARGET_SOURCES["late_bindings"], TARGETS).runs
        for number, run in enumerate(runs):
            with self.subTest(arguments=" ".join(run.arguments)):
                bare = heaptap_test.run([program, *run.arguments], env={**env, "LD_DEBUG": "bindings"})
                named = {(user, function): definer
                         for user, definer, function in BINDING.findall(bare.stderr.decode(errors="replace"))}
                traced = heaptap_test.heaptap("run", "-q", "-o", self.directory / f"{number}.htap", "--", program,
                                              *run.arguments, env=env)
                self.assertEqual(traced.status, 0, traced)
                called = [line.split() for line in traced.stdout.decode().splitlines()]
                checked = 0
                for user, function, definer in called:
                    wanted = named.get((user, function))
                    if wanted is None:
                        continue
                    self.assertEqual(definer.removeprefix("lib"), wanted, f"{user} calls {function}")
                    checked += 1
                self.assertGreater(checked, 0, "the loader named none")


if __name__ == "__main__":
    unittest.main()
