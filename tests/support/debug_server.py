"""A server of debug files as debuginfod has them, which may also hang, lie or send elsewhere."""
import http.server
import threading


class DebugServer(http.server.ThreadingHTTPServer):
    """Answers for one build-id by a function that gets the request's handler; anything else isn't found. `asked` is set by the first request
    for it, `done` by the end of an answer; `ends` lets answers end that wait for it."""

    def __init__(self, build_id, answer):
        self.build_id, self.answer = build_id, answer
        self.asked, self.done, self.ends, self.requests = threading.Event(), threading.Event(), threading.Event(), []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.ends.set()
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.server.build_id not in self.path:
            self.send_error(404)
            return
        self.server.asked.set()
        try:
            self.server.answer(self)
            self.wfile.flush()
        except OSError:
            pass  # the client has gone
        self.server.done.set()

    def log_message(self, *_):
        pass


def sends(content, length=None):
    """An answer with this content; `length`: the one that it claims."""
    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content) if length is None else length))
        handler.end_headers()
        handler.wfile.write(content)
        if length is not None:
            handler.wfile.flush()
            handler.server.ends.wait()
    return answer


def redirects(content):
    """An answer that is somewhere else on the same server."""
    def answer(handler):
        if handler.path.startswith("/elsewhere/"):
            sends(content)(handler)
            return
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere" + handler.path)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return answer


def drips(handler):
    """A few bytes at a time, of a file that never ends."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 28))
    handler.end_headers()
    while not handler.server.ends.wait(0.01):
        handler.wfile.write(bytes(16))
        handler.wfile.flush()


def hangs(handler):
    """No answer, until the server ends."""
    handler.server.ends.wait()
