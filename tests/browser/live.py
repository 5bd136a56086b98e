"""What the tests of Live Code run against: a real Jupyter server, and a hub that hands it out."""

import json
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen


@dataclass(frozen=True)
class Jupyter:
    """A Jupyter server on this machine, and what to append to a page's address to use it."""

    url: str
    token: str

    @property
    def fragment(self) -> str:
        return f"live={self.url}&token={self.token}"

    def ask(self, path: str, method: str = "GET") -> bytes:
        key = {"Authorization": f"token {self.token}"}
        with urlopen(Request(f"{self.url}/api/{path}", headers=key, method=method)) as answer:
            return answer.read()

    def sessions(self) -> list[dict]:
        return json.loads(self.ask("sessions"))

    def end_sessions(self) -> None:
        """End the kernels of the pages that were closed."""
        for session in self.sessions():
            self.ask(f"sessions/{session['id']}", "DELETE")


@contextmanager
def jupyter_server(folder: Path) -> Iterator[Jupyter]:
    """Start a server in a folder that has nothing to do with the course."""
    token = secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser"),
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--ServerApp.root_dir={folder}",
        r"--ServerApp.allow_origin_pat=http://127\.0\.0\.1:\d+",
        f"--IdentityProvider.token={token}",
    ]
    environment = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "MINIGPT_STEPS": "20",
        "OMP_NUM_THREADS": "1",  # on a busy machine threads wait for each other at every step
    }
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                    break
            else:
                raise RuntimeError("the Jupyter server did not start:\n" + "".join(said))
            drain = threading.Thread(target=process.stderr.read, daemon=True)
            drain.start()
            yield Jupyter(address[0], token)
        finally:
            process.terminate()


@dataclass
class Hub:
    """A stand-in for Binder that speaks its event stream, as the tests tell it to."""

    server: Jupyter
    address: str = ""
    asked: list[str] = field(default_factory=list)
    silent: bool = False  # accept, and never answer
    events: list[dict] = field(default_factory=list)  # what is said before the end
    end: str = "ready"
    go_on: threading.Event = field(default_factory=threading.Event)  # the end waits for it


@contextmanager
def stand_in_hub(server: Jupyter) -> Iterator[Hub]:
    hub = Hub(server)
    hub.go_on.set()
    closing = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            hub.asked.append(self.path)
            if hub.silent:
                closing.wait()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            for event in hub.events:
                self.say(event)
            hub.go_on.wait()
            if hub.end == "ready":
                self.say({"phase": "ready", "url": f"{server.url}/", "token": server.token})
            else:
                self.say({"phase": "failed", "message": "no such branch"})

        def say(self, event):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as serving:
        serving.daemon_threads = True
        hub.address = f"http://127.0.0.1:{serving.server_port}"
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            closing.set()
            hub.go_on.set()
            serving.shutdown()
            thread.join()
