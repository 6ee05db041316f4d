"""A client of `heaptap mcp` in plain Python: a line for each message."""
import json
import subprocess

from heaptap_test import HEAPTAP, end
from waiting import TIMEOUT_S, read_until

MAX_TEXT_BYTES = 8192


class Failed(Exception):
    """The answer is an error of the protocol."""

    def __init__(self, error):
        super().__init__(str(error))
        self.code = error["code"]


class Client:
    """Starts a server, and ends it with `with`."""

    def __init__(self, *arguments, cwd, env=None, revision="2025-06-18"):
        self.process = subprocess.Popen([HEAPTAP, "mcp", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=cwd, env=env)
        self.number = 0
        self.rest = b""
        self.facts = self.ask("initialize", protocolVersion=revision, capabilities={}, clientInfo={"name": "test", "version": "1"})
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        self.process.communicate(timeout=TIMEOUT_S)

    def send(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self):
        """The next message."""
        came = read_until(self.process.stdout.fileno(), "an answer", lambda text: b"\n" in text, state=self.process, so_far=self.rest)
        line, _, self.rest = came.partition(b"\n")
        return json.loads(line)

    def ask(self, method, **params):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode())
        answer = self.receive()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self.number), answer
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    def call(self, tool, **arguments):
        """One page of its answer, and whether it is an error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        (content,) = result["content"]
        assert content["type"] == "text" and len(content["text"].encode()) <= MAX_TEXT_BYTES, content
        return content["text"], result["isError"]

    def text(self, tool, **arguments):
        text, is_error = self.call(tool, **arguments)
        assert not is_error, text
        return text

    def refusal(self, tool, **arguments):
        text, is_error = self.call(tool, **arguments)
        assert is_error, text
        return text

    def close(self):
        """Ends its input. Its exit status, and what it printed after all answers."""
        output, errors = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, output, errors
