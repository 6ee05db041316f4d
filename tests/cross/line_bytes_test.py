"""What goes over a line between two machines doesn't depend on the byte order or the word size of either: a program that writes every
message and a stream of events is built for this CPU, for 32 bits, and for one of the other byte order; all write the same bytes, and
each reads the others'. And those bytes are what docs/wire.md says: messages are written here once more, by that page alone.

The environment names the sources (SOURCE) and a directory that is kept between runs for what is built (BUILD)."""
import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test

SOURCE = pathlib.Path(os.environ["SOURCE"])
BUILD = pathlib.Path(os.environ["BUILD"])
FILES = ["common/message/message", "common/message/common_messages", "common/control/control_messages", "common/line/line_messages", "common/line/record_order", "common/line/function_codec", "capture/stream/raw_stream", "capture/stream/raw_events", "capture/stream/sent_tables",
         "capture/stream/event_guesses", "capture/stream/scan_bytes", "capture/stream/live_heap", "common/frames/table_frames", "common/frames/capture_frames"]
# compiler, how it is run here
MACHINES = {"this one": (["g++"], []),
            # Headers say what is 8 bytes in shared memory, where i386 would have less.
            "32 bits": (["g++", "-m32", "-malign-double", "-idirafter", "/usr/include/x86_64-linux-gnu"],
                        [] if heaptap_test.kernel_runs_32_bits() else ["qemu-i386-static"]),
            "the other byte order": (["s390x-linux-gnu-g++"], ["qemu-s390x-static"])}
# Of all that is written: another one is another version of the protocol.
GOLDEN = "5aab74b72e04e338d9ab5463ce9448318d4c50be593a9f82a6c0770c73434fd4"


def build():
    """The words that run the program of each machine."""
    BUILD.mkdir(parents=True, exist_ok=True)
    headers = BUILD / "include"  # those that are the same for all CPUs
    headers.mkdir(exist_ok=True)
    for name in ("fmt", "boost"):
        if not (headers / name).exists():
            (headers / name).symlink_to(pathlib.Path("/usr/include") / name)
    jobs, programs = [], {}
    for number, (machine, (compiler, runner)) in enumerate(MACHINES.items()):
        for word in (compiler[0], *runner):
            if not shutil.which(word):
                heaptap_test.skip_what_is_missing(f"{word} is missing")
        objects = []
        for source in [SOURCE / "tests/cross/line_bytes.cc", *(SOURCE / "src" / f"{name}.cc" for name in FILES)]:
            objects.append(BUILD / f"{number}.{source.stem}.o")
            jobs.append([*compiler, "-std=c++23", "-O0", "-DFMT_HEADER_ONLY", "-I", headers, "-I", SOURCE / "src", "-c", source, "-o", objects[-1]])
        programs[machine] = ([*compiler, "-static", *objects, "-o", BUILD / f"line_bytes.{number}"], [*runner, BUILD / f"line_bytes.{number}"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, jobs))
    for link, _ in programs.values():
        run(link)
    return {machine: words for machine, (_, words) in programs.items()}


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} … {command[-1]}: {done.returncode}\n{done.stderr.decode(errors='replace')[-4000:]}")


def varint(number):
    coded = b""
    while number >= 0x80:
        coded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return coded + bytes([number])


def message(kind, number, fields):
    """As docs/wire.md has it. fields: which, and a text or a number."""
    payload = varint(kind) + varint(number)
    for which, value in fields:
        value = value if isinstance(value, bytes) else varint(value)
        payload += varint(which) + varint(len(value)) + value
    return bytes([len(payload) >> shift & 0xFF for shift in (0, 8, 16, 24)]) + payload


class LineBytes(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = build()
        cls.written = {}
        for machine, words in cls.programs.items():
            path = BUILD / f"{machine}.bytes"
            run([*words, "--write", path])
            cls.written[machine] = path

    def test_all_write_the_same(self):
        for machine, path in self.written.items():
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), GOLDEN, machine)

    def test_all_read_what_the_others_wrote(self):
        for machine, words in self.programs.items():
            for writer, path in self.written.items():
                with self.subTest(reader=machine, writer=writer):
                    run([*words, "--read", path])

    def test_they_are_what_the_page_says(self):
        hello = message(1, 0, [(1, 1), (2, 2)])
        record = message(70, 1, [(54, b"/bin/program"), (54, b""), (54, b"two words"), (84, b"A=1"), (84, b"B="), (85, b"libodd.so"),
                                 (6, b"1"), (6, b"4194304"), (89, b"1000"), (19, b"ptrace"), (50, 1), (51, 0), (86, 1), (52, 1), (53, 1),
                                 (49, 70_000), (148, 2), (87, 5 << 32), (88, 12), (120, 1), (109, 1)])
        wanted = message(116, 0, [(124, b"\x01\xfe\x80"), (66, b"/bin/program"), (6, b"malloc"), (6, b"_Znwm")])
        # Their fields, as those of a message without its head, kind and number.
        entries = [message(0, 0, fields)[6:] for fields in ([(66, b"malloc"), (134, 0xFFFF_8000_0000_1000)],
                                                            [(66, b"free"), (134, 0x1234), (144, 1)])]
        functions = message(117, 0, [(124, b"\x01\xfe\x80"), *((6, entry) for entry in entries)])
        kinds = [message(kind, 0x0123456789ABCDEF,
                         [*((bits, 1 << bits | 1) for bits in range(0, 64, 7)), (3, b"a text\0with all \xff")])
                 for kind in range(256)]
        for machine, path in self.written.items():
            data = path.read_bytes()
            self.assertEqual(data[:len(hello + record)], hello + record, machine)
            last = [wanted, functions, *kinds]
            self.assertEqual(data[-sum(map(len, last)):], b"".join(last), machine)
            # The stream of events begins as the page says.
            self.assertIn(b"HTAPRAW\n" + bytes([4, 0, 0, 0]), data, machine)

    def test_what_is_changed_is_found(self):
        """So that a reader that believes everything fails."""
        data = bytearray(self.written["this one"].read_bytes())
        data[len(data) // 3] ^= 1
        other = self.directory / "changed.bytes"
        other.write_bytes(data)
        with self.assertRaises(AssertionError):
            run([*self.programs["this one"], "--read", other])


if __name__ == "__main__":
    unittest.main()
