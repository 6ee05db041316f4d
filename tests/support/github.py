"""GitHub's runs and artifacts for the program gh: a proxy that answers in the place of api.github.com, with a certificate of its own."""
import http.server
import io
import json
import re
import ssl
import threading
import zipfile

import heaptap_test

HOST = "api.github.com"
WORKFLOW = 7


class GitHub:
    """The repository owner/shop: its runs on the branch main are of the workflow "tests", newest with the highest number. Artifacts lie in
    DIRECTORY/RUN/NAME/."""

    def __init__(self, directory, artifacts, token):
        self.artifacts, self.token, self.failed, self.asked = artifacts, token, set(), []
        self.certificate, key = directory / "github.pem", directory / "github.key"
        made = heaptap_test.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", self.certificate, "-days", "2", "-subj",
                                 f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"])
        assert made.status == 0, str(made)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Answers,), {"github": self, "context": context}))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def environment(self):
        return {"HTTPS_PROXY": f"http://127.0.0.1:{self.server.server_port}", "SSL_CERT_FILE": str(self.certificate)}

    def answer(self, path):
        """Type and body; None: there is nothing."""
        place, _, query = path.removeprefix("/repos/owner/shop/actions/").partition("?")
        if place == "workflows":
            return as_json({"total_count": 1, "workflows": [{"id": WORKFLOW, "name": "tests", "state": "active", "path": ".github/workflows/tests.yml"}]})
        if place == f"workflows/{WORKFLOW}/runs":
            runs = self.runs() if "branch=main" in query.split("&") else []
            return as_json({"total_count": len(runs), "workflow_runs": runs})
        if found := re.fullmatch(r"runs/(\d+)/artifacts", place):
            return as_json({"artifacts": [{"name": each.name, "expired": False, "archive_download_url": f"https://{HOST}/{found[1]}/{each.name}"}
                                          for each in (self.artifacts / found[1]).iterdir()]})
        if found := re.fullmatch(r"/(\d+)/([\w-]+)", place):
            return "application/zip", packed(self.artifacts / found[1] / found[2])
        return None

    def runs(self):
        numbers = sorted((int(each.name) for each in self.artifacts.glob("[0-9]*")), reverse=True)
        return [{"id": number, "workflow_id": WORKFLOW, "status": "completed", "conclusion": "failure" if number in self.failed else "success",
                 "head_branch": "main", "event": "push"} for number in numbers]


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.send_response(200 if self.path == f"{HOST}:443" else 403)
        self.end_headers()
        if self.path != f"{HOST}:443":
            self.close_connection = True
            return
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)

    def do_GET(self):
        self.github.asked.append(self.path)
        is_known = self.headers.get("Authorization") == f"token {self.github.token}"
        found = self.github.answer(self.path) if is_known else None
        kind, body = found or as_json({"message": "Not Found" if is_known else "Bad credentials"})
        self.send_response(200 if found else 404 if is_known else 401)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def as_json(document):
    return "application/json", json.dumps(document).encode()


def packed(directory):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for each in directory.rglob("*"):
            archive.write(each, each.relative_to(directory))
    return file.getvalue()
