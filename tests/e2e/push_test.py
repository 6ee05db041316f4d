# CTEST COST 40
"""Profiles pushed to a server while recording: what the server gets is what the trace has, whatever the server does the program runs on and
its status is heaptap's, and the token is told to nobody else."""
import base64
import collections
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from debug_server import hangs
from heaptap_test import HEAPTAP, built, heaptap, run, sooner
from waiting import finished, wait_for

PYROSCOPE, PARCA, OTLP = "/push.v1.PusherService/Push", "/api/profiles/writeraw", "/v1development/profiles"
AGENT = pathlib.Path(HEAPTAP).resolve().parent / "libheaptap_agent.so"
SOON = {"write": "20ms", "retry": "20ms", "remind": "100ms"}
LIVE, ALLOCATED = ("inuse_objects", "inuse_space"), ("alloc_objects", "alloc_space")


def fields(message):
    """Fields of a message of protocol buffers: (number, an integer or bytes) each."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        elif tag & 7 == 1:
            found.append((tag >> 3, int.from_bytes(message[at:at + 8], "little")))
            at += 8
        else:
            assert tag & 7 == 2, tag
            length = varint()
            found.append((tag >> 3, message[at:at + length]))
            at += length
    return found


def of_field(message, wanted):
    return [value for number, value in fields(message) if number == wanted]


class Otlp:
    """The profiles of a request of OTLP 1.10, each with the values of its type by stack, whose frames are named as `go tool pprof -raw` does."""

    def __init__(self, body):
        ((_, resource_profiles), (_, dictionary)) = fields(body)
        tables = {number: of_field(dictionary, number) for number in range(1, 8)}
        assert tables[5][0] == b"" and all(tables[number][0] == b"" for number in (1, 2, 3, 4, 6, 7)), "the first entries are empty"
        self.texts = [text.decode() for text in tables[5]]
        assert len(set(self.texts)) == len(self.texts)
        self.tables = tables
        (resource,), (scope,) = of_field(resource_profiles, 1), of_field(resource_profiles, 2)
        self.labels = []
        for attribute in of_field(resource, 1):
            key, value = dict(fields(attribute))[1], dict(fields(attribute))[2]
            ((kind, value),) = fields(value)
            self.labels.append((key.decode(), value.decode() if kind == 1 else value))
        assert dict(fields(of_field(scope, 1)[0])) == {1: b"heaptap"}
        self.profiles = [fields(profile) for profile in of_field(scope, 2)]

    def type(self, profile, number=1):
        return tuple(self.texts[index] for _, index in fields(dict(profile)[number]))

    def frames(self, location):
        text = []
        for line in of_field(self.tables[2][location], 3):
            line = dict(fields(line))
            name, symbol, file = (self.texts[dict(fields(self.tables[3][line[1]])).get(number, 0)] for number in (1, 2, 3))
            text.append(f"{name} {file}:{line.get(2, 0)} s=0" + (f"({symbol})" if symbol != name else ""))
        return text

    def sums(self):
        found = {}
        for profile in self.profiles:
            counted = found.setdefault(self.type(profile)[0], collections.Counter())
            for number, sample in profile:
                if number != 2:
                    continue
                sample = dict(fields(sample))
                assert set(sample) == {1, 4}, sample
                (value,) = varints(sample[4])
                (stack,) = of_field(self.tables[7][sample[1]], 1)
                counted["\n".join(line for place in varints(stack) for line in self.frames(place))] += value
        return found


def varints(packed):
    """Numbers of a packed field."""
    numbers, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


class Request:
    """A request to push: its labels, and files of pprof."""

    def __init__(self, path, headers, body):
        self.path, self.headers = path, headers
        if path.endswith(OTLP):
            self.otlp = Otlp(gzip.decompress(body))
            self.labels = self.otlp.labels
        elif path.endswith(PARCA):
            (series,) = json.loads(body)["series"]
            self.labels = [(label["name"], label["value"]) for label in series["labels"]["labels"]]
            self.profiles = [base64.b64decode(sample["raw_profile"], validate=True) for sample in series["samples"]]
        else:
            ((number, series),) = fields(body)
            assert number == 1, number
            pairs = [dict(fields(label)) for number, label in fields(series) if number == 1]
            self.labels = [(pair[1].decode(), pair[2].decode()) for pair in pairs]
            self.profiles = [dict(fields(sample))[1] for number, sample in fields(series) if number == 2]

    def label(self, name):
        return dict(self.labels)[name]


class Receiver(http.server.ThreadingHTTPServer):
    """A server of profiles. `answer` gets the request's handler after its body was read; `ends` lets answers end that wait for it."""

    def __init__(self, answer, certificate=None):
        self.answer, self.requests, self.ends = answer, [], threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that doesn't trust this one

    def close(self):
        self.ends.set()
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(Request(self.path, self.headers, body))
        try:
            self.server.answer(self)
            self.wfile.flush()
        except OSError:
            pass  # the client has gone

    def log_message(self, *_):
        pass


def says(status, body=b"{}", length=None, **headers):
    """An answer; `length`: the one that it claims, of a body that doesn't end."""
    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        handler.end_headers()
        handler.wfile.write(body)
        if length is not None:
            handler.wfile.flush()
            handler.close_connection = True
    return answer


def closes(handler):
    handler.close_connection = True


def babbles(handler):
    handler.wfile.write(b"this is no HTTP\r\n\r\n")
    handler.close_connection = True


def floods(handler):
    handler.send_response(500)
    handler.end_headers()
    while not handler.server.ends.is_set():
        handler.wfile.write(bytes(1 << 16))


@unittest.skipUnless(heaptap_test.has_library("libcurl.so.4", "libcurl-gnutls.so.4"), "libcurl isn't installed")
class Pushing(heaptap_test.TestCase):
    end = staticmethod(heaptap_test.SteppedTestCase.end)

    def receiver(self, answer=says(200), certificate=None):
        receiver = Receiver(answer, certificate)
        self.addCleanup(receiver.close)
        return receiver

    def push(self, url, *options, program="leak_shop", env=None, start=("run",), **kinds):
        return heaptap(*start, "--push", url, *options, "-o", self.trace, "--force", "--", built(program), env=env, cwd=self.directory, **kinds)

    def start(self, url, *options, every="100ms", program="signal_asked", env=None):
        """heaptap with a program that does what it is told, line by line."""
        process = subprocess.Popen([HEAPTAP, "run", "--push", url, "--push-every", every, *options, "-o", self.trace, "--force", "--",
                                    built(program)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory, text=True,
                                   env=env or sooner(**SOON))
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def told(self, url, first, last, *options):
        """A failure is told once while the program runs, whose status is heaptap's, and again at the end."""
        process = self.start(url, *options, env=sooner(**SOON, reach="2000ms"))
        self.order(process, "small 30 100")
        line = process.stderr.readline()
        self.assertRegex(line, rf"^{first}$")
        out, err = process.communicate("exit 5\n")
        self.assertEqual(process.returncode, 5, err)
        self.assertNotIn(line, err)
        self.assertRegex(err, last)

    def order(self, process, words):
        process.stdin.write(words + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def awaits(self, receiver, count, process):
        wait_for(f"{count} profiles", lambda: len(receiver.requests) >= count, state=process)

    def read(self, profile):
        """A profile by `go tool pprof`: by type, the values of each stack, whose frames are named with their lines."""
        if not shutil.which("go"):
            heaptap_test.skip_what_is_missing("Go isn't installed")
        file = self.directory / "profile.pb.gz"
        file.write_bytes(profile)
        environment = {**os.environ, "HOME": str(self.directory), "PPROF_TMPDIR": str(self.directory), "GOFLAGS": "", "GOTOOLCHAIN": "local"}
        raw = run(["go", "tool", "pprof", "-symbolize=none", "-raw", file], env=environment)
        self.assertEqual(raw.status, 0, str(raw))
        text = raw.stdout.decode()
        types = [name.split("/")[0] for name in re.search(r"^Samples:\n(.*)$", text, re.MULTILINE)[1].replace("[dflt]", "").split()]
        places = text.partition("\nLocations\n")[2].partition("\nMappings\n")[0]
        frames = {}
        for block in re.split(r"\n(?= +\d+: )", places):
            number, lines = re.match(r" *(\d+): (.*)", block, re.DOTALL).groups()
            lines = re.sub(r"^0x[0-9a-f]+ (M=\d+ )?", "", lines).splitlines()
            frames[number] = "\n".join(re.sub(r"(:\d+):\d+ s=", r"\1 s=", line.strip()) for line in lines)
        sums = {name: collections.Counter() for name in types}
        for values, stack in re.findall(r"^ +([\d ]+): ([\d ]+)$", text.partition("\nLocations\n")[0], re.MULTILINE):
            for name, value in zip(types, map(int, values.split())):
                sums[name]["\n".join(frames[place] for place in stack.split())] += value
        return {name: +counted for name, counted in sums.items()}

    def exported(self, trace=None):
        file = self.directory / "exported.pb.gz"
        outcome = heaptap("export", "--to", "pprof", "--force", "-o", file, trace or self.trace)
        self.assertEqual(outcome.status, 0, str(outcome))
        return self.read(file.read_bytes())

    def check(self, requests, trace=None):
        """What is live is that of the last profile, what was allocated that of all of them."""
        exported = self.exported(trace)
        read = [[self.read(profile) for profile in request.profiles] for request in requests]
        last = {name: counted for profile in read[-1] for name, counted in profile.items()}
        for name in LIVE:
            self.assertEqual(last[name], exported[name], name)
        for name in ALLOCATED:
            sums = collections.Counter()
            for profiles in read:
                for profile in profiles:
                    sums += profile.get(name, collections.Counter())
            self.assertEqual(sums, exported[name], name)


class Profiles(Pushing):
    def test_the_last_one_has_what_is_live_and_all_have_what_was_allocated(self):
        receiver = self.receiver()
        process = self.start(receiver.url)
        for count in range(1, 4):
            self.order(process, "small 30 100")
            self.order(process, "large 2 5000")
            self.order(process, "drop 10 0")
            self.awaits(receiver, count * 2, process)
        out, err = process.communicate("large 3 70\nexit 5\n")
        self.assertEqual(process.returncode, 5, err)
        self.assertRegex(err, rf"heaptap: {len(receiver.requests)} profiles sent to {receiver.url}\n")
        self.check(receiver.requests)
        self.assertEqual({request.path for request in receiver.requests}, {PYROSCOPE})
        self.assertEqual({request.headers["Content-Type"] for request in receiver.requests}, {"application/proto"})

    def test_of_parca_states_and_sums_are_two_profiles(self):
        receiver = self.receiver()
        process = self.start("parca+" + receiver.url)
        self.order(process, "small 30 100")
        self.awaits(receiver, 2, process)
        out, err = process.communicate("large 3 70\nexit 0\n")
        self.check(receiver.requests)
        request = receiver.requests[0]
        self.assertEqual(request.path, PARCA)
        self.assertEqual(request.labels[0], ("__name__", "memory"))
        self.assertEqual([list(self.read(profile)) for profile in request.profiles], [list(ALLOCATED), list(LIVE)])
        durations = [dict(fields(gzip.decompress(profile))).get(10, 0) for profile in request.profiles]
        self.assertGreater(durations[0], 0)
        self.assertEqual(durations[1], 0)

    def test_of_opentelemetry_each_type_is_a_profile(self):
        receiver = self.receiver()
        process = self.start("otlp+" + receiver.url, "--push-label", "env=staging")
        self.order(process, "small 30 100")
        self.awaits(receiver, 2, process)
        out, err = process.communicate("large 3 70\nexit 0\n")
        exported, sums = self.exported(), collections.defaultdict(collections.Counter)
        for request in receiver.requests:
            for name, counted in request.otlp.sums().items():
                sums[name] = counted if name in LIVE else sums[name] + counted
        for name in LIVE + ALLOCATED:
            self.assertEqual(sums[name], exported[name], name)
        first = receiver.requests[0]
        self.assertEqual((first.path, first.headers["Content-Type"], first.headers["Content-Encoding"]), (OTLP, "application/x-protobuf", "gzip"))
        self.assertEqual([key for key, _ in first.labels], ["service.name", "host.name", "process.pid", "env"])
        self.assertIsInstance(dict(first.labels)["process.pid"], int)
        for profile in first.otlp.profiles:
            name, unit = first.otlp.type(profile)
            self.assertEqual(unit, "bytes" if name.endswith("space") else "count")
            self.assertEqual(first.otlp.type(profile, 5), ("space", "bytes"))
            self.assertEqual(4 in dict(profile), name in ALLOCATED)
            self.assertGreater(dict(profile)[3], 10 ** 18)

    def test_sampled_profiles_say_their_interval(self):
        receiver = self.receiver()
        self.push("otlp+" + receiver.url, "--sample", "64")
        self.assertEqual({dict(profile)[6] for profile in receiver.requests[-1].otlp.profiles}, {64})
        self.push(receiver.url, "--sample", "64")
        profile = gzip.decompress(receiver.requests[-1].profiles[0])
        self.assertEqual([value for number, value in fields(profile) if number == 12], [64])

    def test_a_program_that_ends_before_the_first_interval_has_one(self):
        receiver = self.receiver()
        outcome = self.push(receiver.url)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(len(receiver.requests), 1)
        self.assertIn(f"heaptap: 1 profile sent to {receiver.url}\n", outcome.stderr.decode())
        self.check(receiver.requests)

    def test_types_are_those_that_servers_know(self):
        receiver = self.receiver()
        self.push(receiver.url)
        profile = gzip.decompress(receiver.requests[0].profiles[0])
        texts = [value.decode() for number, value in fields(profile) if number == 6]
        names = [tuple(texts[index] for _, index in fields(value)) for number, value in fields(profile) if number in (1, 11)]
        self.assertEqual(names, [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"),
                                 ("space", "bytes")])
        self.assertEqual([value for number, value in fields(profile) if number == 12], [1])
        # Labels of samples would be those of a series, with each of its values.
        self.assertTrue(all(number != 3 for kind, sample in fields(profile) if kind == 2 for number, _ in fields(sample)))

    def test_totals_and_a_process_attached_to_are_pushed(self):
        receiver = self.receiver()
        outcome = self.push(receiver.url, "--aggregate")
        self.assertEqual(len(receiver.requests), 1, str(outcome))
        self.check(receiver.requests)
        if not heaptap_test.has_tracer():
            return
        program = subprocess.Popen([built("signal_asked")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        receiver = self.receiver()
        process = subprocess.Popen([HEAPTAP, "attach", "--push", receiver.url, "--push-every", "100ms", "-o", self.trace, "--force",
                                    str(program.pid)], stderr=subprocess.PIPE, text=True, env=sooner(**SOON))
        self.addCleanup(self.end, process)
        wait_for("attached", lambda: "recording" in process.stderr.readline(), state=process)
        self.order(program, "small 30 100")
        self.awaits(receiver, 1, process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(finished(process, state=[])[0], None)
        self.assertEqual(process.returncode, 0)
        self.check(receiver.requests)
        self.assertEqual(receiver.requests[0].label("pid"), str(program.pid))

    def test_programs_that_the_agent_has_recorded_are_pushed(self):
        receiver = self.receiver()
        env = {**os.environ, "LD_PRELOAD": str(AGENT), "HEAPTAP_OUTPUT": str(self.trace), "HEAPTAP_OPTIONS": f"--push {receiver.url}"}
        outcome = run([built("leak_shop")], env=env, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        wait_for("the last profile", lambda: receiver.requests)
        wait_for("the trace", lambda: heaptap("show", "summary", self.trace).status == 0)
        self.check(receiver.requests)

    def test_programs_of_another_machine_are_pushed_from_here(self):
        receiver = self.receiver()
        outcome = far.run("unix", self.directory, "--push", receiver.url, "-o", self.trace, "--", built("leak_shop"))
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(len(receiver.requests), 1, str(outcome))
        self.check(receiver.requests)


    def test_a_program_inherits_no_descriptor(self):
        receiver = self.receiver()
        inherited = []
        for options in ([], ["--push", receiver.url]):
            outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", "/bin/sh", "-c", "ls /proc/$$/fd", cwd=self.directory)
            inherited.append(outcome.stdout)
        self.assertEqual(*inherited)


class Labels(Pushing):
    def test_tell_programs_hosts_and_processes_apart(self):
        receiver = self.receiver()
        outcome = self.push(receiver.url, "--push-label", "env=staging", "--push-label", "hostname=h")
        self.assertEqual(outcome.status, 0, str(outcome))
        labels = receiver.requests[0].labels
        pid = re.search(r"\(pid (\d+)\)", outcome.stderr.decode())[1]
        self.assertEqual(labels, [("__name__", "memory"), ("__delta__", "false"), ("service_name", "leak_shop"), ("hostname", "h"),
                                  ("pid", pid), ("env", "staging")])

    def test_are_of_each_process_with_children(self):
        receiver = self.receiver()
        outcome = heaptap("run", "-f", "--push", receiver.url, "-o", self.directory / "%p.htap", "--", "/bin/sh", "-c",
                          f"{built('leak_shop')}; {built('leak_shop')}; exit 3", cwd=self.directory)
        self.assertEqual(outcome.status, 3, str(outcome))
        of_shops = [request for request in receiver.requests if request.label("service_name") == "leak_shop"]
        self.assertEqual(len({request.label("pid") for request in of_shops}), 2)
        for request in of_shops:
            self.check([request], self.directory / f"{request.label('pid')}.htap")


class BadServers(Pushing):
    def refused(self, answer, why, sent=0, env=None):
        """The program and heaptap's status are as ever, and the cause is told once."""
        receiver = self.receiver(answer)
        process = self.start(receiver.url, env=env or sooner(**SOON, reach="2000ms"))
        self.order(process, "small 30 100")
        self.awaits(receiver, 3, process)
        out, err = process.communicate("exit 5\n")
        self.assertEqual(process.returncode, 5, err)
        self.assertEqual(len(re.findall(rf"^heaptap: profiles aren't sent to {receiver.url}: {why}$", err, re.MULTILINE)), 1, err)
        self.assertRegex(err, rf"(?m)^heaptap: {sent} profiles? sent to {receiver.url}; \d+ profiles? not: {why}$")
        self.assertIn("still reachable", err)
        return receiver

    def test_that_refuse_are_told_once_and_counted(self):
        self.refused(says(500, b"out of disk\n\x1b[31m"), r"it answers 500: out of disk\\x0a\\x1b\[31m")
        self.refused(says(400, b""), "it answers 400")
        self.refused(says(401, b"no"), "it answers 401: no; HEAPTAP_PUSH_TOKEN or --push-token-file has the token that is sent")
        self.refused(says(429, b"slower"), "it answers 429: slower")

    def test_that_take_a_request_and_reject_its_profiles_are_told(self):
        receiver = self.receiver(says(200, b"\x0a\x0b\x08\x02\x12\x07too old"))
        outcome = self.push("otlp+" + receiver.url)
        self.assertIn(f"heaptap: profiles aren't sent to {receiver.url}: it rejects profiles: too old\n", outcome.stderr.decode())
        self.assertIn(f"heaptap: 0 profiles sent to {receiver.url}; 1 profile not: it rejects profiles: too old\n", outcome.stderr.decode())

    def test_that_send_elsewhere_are_not_followed(self):
        elsewhere = self.receiver()
        for status in (301, 307, 308):
            self.refused(says(status, Location=elsewhere.url + "/x"), rf"it answers {status}, that it is elsewhere, at {elsewhere.url}/x: "
                         "name that address")
        self.assertEqual(elsewhere.requests, [])

    def test_that_speak_no_http_or_close_are_told_once(self):
        self.refused(babbles, ".*")
        self.refused(closes, "Empty reply from server")
        self.refused(floods, r"it answers 500: (\\x00)+")

    def test_that_never_answer_are_not_waited_for(self):
        self.refused(hangs, "no answer in 200 ms", env=sooner(**SOON, reach="200ms"))

    def test_whose_answer_never_ends_have_the_profile(self):
        for status, kind in ((200, "sent"), (500, "not")):
            receiver = self.receiver(says(status, b"short", length=1000))
            outcome = self.push(receiver.url, env=sooner(**SOON, reach="2000ms"))
            self.assertEqual(outcome.status, 0, str(outcome))
            self.assertRegex(outcome.stderr.decode(), rf"1 profile {kind}")
            if kind == "sent":
                self.assertEqual(len(receiver.requests), 1)

    def test_that_are_not_there_are_told_once(self):
        url = f"http://127.0.0.1:{far.free_port()}"
        why = r"Failed to connect to 127.0.0.1 [^\n]*"
        self.told(url, rf"heaptap: profiles aren't sent to {url}: {why}\n", rf"heaptap: 0 profiles sent to {url}; \d+ profiles? not: {why}\n")

    def test_that_end_lose_no_allocation_when_they_are_back(self):
        receiver = self.receiver()
        process = self.start(receiver.url)
        self.order(process, "small 30 100")
        self.awaits(receiver, 1, process)
        taken = []

        def fails(handler):
            taken.append(handler.server.requests.pop())
            says(503)(handler)

        receiver.answer = fails
        self.order(process, "large 30 100")
        wait_for("refused profiles", lambda: len(taken) >= 3, state=process)
        receiver.answer = says(200)
        self.awaits(receiver, 2, process)
        process.communicate("small 1 1\nexit 0\n")
        self.check(receiver.requests)

    def test_the_last_wait_ends_at_ctrl_c(self):
        receiver = self.receiver(hangs)
        process = self.start(receiver.url, every="1h")
        process.stdin.write("small 30 100\nexit 5\n")
        process.stdin.flush()
        self.awaits(receiver, 1, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 5, err)
        self.assertIn(f"heaptap: 0 profiles sent to {receiver.url}; 1 profile not: interrupted\n", err)
        self.assertIn("still reachable", err)

    def test_the_last_wait_ends_by_itself(self):
        receiver = self.receiver(hangs)
        outcome = self.push(receiver.url, env=sooner(**SOON, reach="300ms"))
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn("0 profiles sent to", outcome.stderr.decode())

    def test_a_trace_that_can_not_be_read_is_not_pushed(self):
        receiver = self.receiver()
        outcome = heaptap("run", "--push", receiver.url, "-o", "/dev/null", "--force", "--", built("leak_shop"), cwd=self.directory)
        self.assertEqual(receiver.requests, [])
        self.assertIn("can't be read again: name a file with -o", outcome.stderr.decode())
        self.assertIn("0 profiles sent to", outcome.stderr.decode())


class Certificates(Pushing):
    def setUp(self):
        super().setUp()
        self.certificate, key = self.directory / "certificate.pem", self.directory / "key.pem"
        made = run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", self.certificate, "-days", "2", "-subj",
                    "/CN=store", "-addext", "subjectAltName=IP:127.0.0.1"])
        self.assertEqual(made.status, 0, str(made))
        self.server = self.receiver(certificate=(self.certificate, key))

    def test_of_unknown_issuers_are_refused(self):
        self.told(self.server.url, rf"heaptap: profiles aren't sent to {self.server.url}: .*certificate.*; --push-ca FILE trusts another issuer\n",
                  "heaptap: 0 profiles sent")
        self.assertEqual(self.server.requests, [])

    def test_of_named_issuers_are_accepted(self):
        for options, env in ((["--push-ca", self.certificate], os.environ), ([], {**os.environ, "SSL_CERT_FILE": str(self.certificate)})):
            self.server.requests.clear()
            outcome = self.push(self.server.url, *options, env=env)
            self.assertIn(f"heaptap: 1 profile sent to {self.server.url}\n", outcome.stderr.decode(), str(outcome))
            self.check(self.server.requests)

    def test_of_other_names_are_refused(self):
        url = self.server.url.replace("127.0.0.1", "localhost")
        self.told(url, rf"heaptap: profiles aren't sent to {url}: .*\n", "heaptap: 0 profiles sent", "--push-ca", self.certificate)
        self.assertEqual(self.server.requests, [])


class Tokens(Pushing):
    SECRET = "s3cret-Token_1=="

    def file(self, text, mode=0o600):
        file = self.directory / "token"
        file.write_text(text)
        file.chmod(mode)
        return file

    def test_are_sent_and_told_to_nobody_else(self):
        receiver = self.receiver(says(403, self.SECRET.encode()[::-1]))
        for options, env in (([], {**os.environ, "HEAPTAP_PUSH_TOKEN": self.SECRET}), (["--push-token-file", self.file(self.SECRET + "\n")], None)):
            receiver.requests.clear()
            outcome = heaptap("run", "--push", receiver.url, *options, "-o", self.trace, "--force", "--", "/usr/bin/env", env=env,
                              cwd=self.directory)
            self.assertEqual(receiver.requests[0].headers["Authorization"], f"Bearer {self.SECRET}")
            for text in (outcome.stdout, outcome.stderr, self.trace.read_bytes()):
                self.assertNotIn(self.SECRET.encode(), text)
            self.assertNotIn(b"HEAPTAP_PUSH_TOKEN=", outcome.stdout)

    def test_no_token_no_header(self):
        receiver = self.receiver()
        self.push(receiver.url)
        self.assertNotIn("Authorization", receiver.requests[0].headers)

    def test_a_proxy_gets_nothing_of_what_stays_on_this_machine(self):
        receiver, proxy = self.receiver(), self.receiver()
        env = {**os.environ, "HEAPTAP_PUSH_TOKEN": self.SECRET, "http_proxy": proxy.url, "all_proxy": proxy.url}
        self.push(receiver.url, env=env)
        self.assertEqual((len(receiver.requests), len(proxy.requests)), (1, 0))

    def test_are_not_sent_in_clear_to_other_machines(self):
        env = {**os.environ, "HEAPTAP_PUSH_TOKEN": self.SECRET}
        outcome = self.push("http://store.example", env=env)
        self.assertEqual(outcome.status, 2, str(outcome))
        self.assertRegex(outcome.stderr.decode(), "use https://, or --push-token-in-clear")
        self.assertEqual(outcome.stdout, b"")
        env = sooner(**SOON, reach="100ms") | {"HEAPTAP_PUSH_TOKEN": self.SECRET}
        outcome = self.push("http://store.invalid", "--push-token-in-clear", env=env)
        self.assertEqual(outcome.status, 0, str(outcome))

    def test_files_that_others_may_read_or_that_have_none_are_refused(self):
        for file in (self.file(self.SECRET, 0o644), self.directory / "none"):
            outcome = self.push("http://localhost", "--push-token-file", file)
            self.assertEqual(outcome.status, 2, str(outcome))
        for text in ("", "two words", "a\x01"):
            outcome = self.push("http://localhost", "--push-token-file", self.file(text))
            self.assertEqual(outcome.status, 2, str(outcome))
            self.assertIn("has no token", outcome.stderr.decode())


class Usage(Pushing):
    def test_what_can_not_work_is_said_before_the_program_starts(self):
        for options, why in ((["--push", "store:4040"], "write http://HOST:PORT"),
                             (["--push", "http://joe:s3cret@store"], "leave them out, and use HEAPTAP_PUSH_TOKEN"),
                             (["--push", "http://localhost", "--push-label", "x"], "isn't KEY=VALUE"),
                             (["--push", "http://localhost", "--push-every", "1ms"], "--push-every: at least 100ms"),
                             (["--push", "https://localhost", "--push-ca", "/nowhere"], "can't read '/nowhere'")):
            outcome = heaptap("run", *options, "-o", self.trace, "--", "/bin/echo", "started", cwd=self.directory)
            self.assertEqual(outcome.status, 2, str(outcome))
            self.assertIn(why, outcome.stderr.decode())
            self.assertNotIn(b"s3cret", outcome.stderr)
            self.assertEqual(outcome.stdout, b"")
            self.assertFalse(self.trace.exists())

    def test_quiet_and_json_print_nothing_of_what_was_sent(self):
        receiver = self.receiver()
        self.assertEqual(self.push(receiver.url, "-q").stderr, b"")
        outcome = self.push(receiver.url, "--json")
        json.loads(outcome.stderr)
        self.assertEqual(len(receiver.requests), 2)

    def test_a_configuration_of_the_directory_can_not_name_a_server(self):
        (self.directory / ".heaptap").write_text("push http://localhost\n")
        outcome = heaptap("run", "-o", self.trace, "--", "/bin/true", cwd=self.directory)
        self.assertEqual(outcome.status, 2, str(outcome))
        self.assertIn("--push", outcome.stderr.decode())


if __name__ == "__main__":
    unittest.main()
