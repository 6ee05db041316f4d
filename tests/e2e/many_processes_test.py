# CTEST COST 8
"""What heaptap-target has of memory and address space for a program of many processes, on a line: what a process needs comes when it needs
it."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP
from waiting import descendants, ended, wait_for

# Children that do a little and wait for the end of a pipe, as many as it is told.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int ends[2], i, n, count = atoi(argv[argc - 1]);
  if (pipe(ends) != 0) return 1;
  for (i = 0; i < count; i++) {
    if (fork() != 0) continue;
    for (n = 0; n < 200; n++) free(malloc((size_t)(100 + n)));
    close(ends[1]);
    char byte;
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  puts("all are there");
  fflush(stdout);
  getchar();
  close(ends[0]);
  close(ends[1]);
  while (wait(NULL) > 0) continue;
  return 0;
}
"""
FEW, MANY = 1, 101
MOST_BYTES, MOST_ADDRESSES = 250 << 10, 300 << 20  # of a process; the first eight have more


class ManyProcesses(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.directory / "forks"
        (self.directory / "forks.c").write_text(SOURCE)
        subprocess.run(["cc", "-O1", "-fno-builtin", "-o", self.program, self.directory / "forks.c"], check=True)

    def room_for(self, count):
        """Memory beside the logs and address space of what records so many processes."""
        address = str(self.directory / f"far{count}.sock")
        with far.serving(address, "-q", "--once", stdin=subprocess.PIPE) as server:
            host = subprocess.Popen([HEAPTAP, "run", "-H", address, "-q", "--force", "-f", "--no-leak-scan", "-o", self.directory / f"{count}.%p.htap",
                                     "--", self.program, str(count)])
            self.addCleanup(heaptap_test.end, host)
            self.assertEqual(server.stdout.readline(), b"all are there\n")
            [session] = [pid for pid in descendants(server.pid) if heaptap_test.executable(pid) == str(far.HEAPTAP_TARGET)]

            def all_are_recorded():
                traces = list(self.directory.glob(f"{count}.*.htap"))
                return len(traces) == count + 1 and all(trace.stat().st_size > 0 for trace in traces)
            wait_for(f"{count} processes are recorded", all_are_recorded, state=server)
            memory = int(re.search(r"^Pss_Anon:\s+(\d+) kB", pathlib.Path(f"/proc/{session}/smaps_rollup").read_text(), re.MULTILINE)[1]) << 10
            addresses = int(re.search(r"^VmSize:\s+(\d+) kB", pathlib.Path(f"/proc/{session}/status").read_text(), re.MULTILINE)[1]) << 10
            server.stdin.close()
            self.assertEqual(ended(host, state=server), 0)
        return memory, addresses

    def test_have_what_they_need(self):
        few, many = self.room_for(FEW), self.room_for(MANY)
        each = [(most - least) // (MANY - FEW) for least, most in zip(few, many)]
        self.assertLess(each[0], MOST_BYTES, "of memory for a process")
        self.assertLess(each[1], MOST_ADDRESSES, "of address space for a process")


if __name__ == "__main__":
    unittest.main()
