"""What a browser gets: the good pages, and word of every newer build."""

import asyncio
import secrets
from pathlib import Path

from builds import Builds
from tornado import web, websocket

# It goes to the end of every page on its way out. It is a socket, since a browser keeps only a
# handful of the other lasting connections to a server, and an author has many pages open.
RELOAD = """
<script>
(function listen() {
  const socket = new WebSocket(`ws://${location.host}/.preview/builds`);
  socket.onmessage = ({ data }) => data === "BUILD" || location.reload();
  socket.onclose = () => setTimeout(listen, 2000);
})();
</script>
"""
WAITING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>The book is being built</title>
<h1>The book is being built</h1>
<p>As soon as it is there, this page shows it. The terminal says how far it is.</p>
"""


class Guarded(web.RequestHandler):
    """Answers to its own address alone, so that no other name can be made to lead here."""

    def initialize(self, host: str) -> None:
        self.host = host

    def prepare(self) -> None:
        if self.request.host != self.host:
            self.set_status(403)
            self.finish(f"This is the preview of a book. Its address is http://{self.host}/\n")


class Pages(Guarded, web.StaticFileHandler):
    """The good pages, never from a cache, each with the script that reloads it."""

    def initialize(self, host: str, builds: Builds, script: "Script") -> None:
        Guarded.initialize(self, host)
        web.StaticFileHandler.initialize(self, str(builds.good / "html"), "index.html")
        self.builds, self.script = builds, script

    def prepare(self) -> None:
        super().prepare()
        if not self._finished and not self.builds.has_pages():
            self.set_status(503)
            self.finish(WAITING + str(self.script))

    async def get(self, path: str, include_body: bool = True) -> None:
        self.path = self.parse_url_path(path)
        wanted = self.get_absolute_path(self.root, self.path)
        file = self.validate_absolute_path(self.root, wanted)
        if file is None:  # sent on, to a folder's address with a / at its end
            return
        if file.endswith(".html"):
            self.set_extra_headers(path)
            self.finish(Path(file).read_text(encoding="utf-8") + str(self.script))
        else:
            await super().get(path, include_body)

    def set_extra_headers(self, path: str) -> None:
        self.set_header("Cache-Control", "no-store")

    def compute_etag(self) -> None:
        return None  # of no use to a cache that keeps nothing


class Script:
    """The script that reloads a page when a newer build is there than the page is from."""

    def __init__(self, builds: Builds) -> None:
        self.builds, self.run = builds, secrets.token_hex(4)

    @property
    def build(self) -> str:
        return f"{self.run}-{self.builds.number}"

    def __str__(self) -> str:
        return RELOAD.replace("BUILD", self.build)


class NewBuilds(Guarded, websocket.WebSocketHandler):
    """Tells an open page the newest good build, at once and after each."""

    def initialize(self, host: str, builds: Builds, script: Script) -> None:
        super().initialize(host)
        self.builds, self.script = builds, script

    async def open(self) -> None:
        self.telling = asyncio.create_task(self.tell())

    async def tell(self) -> None:
        async with self.builds.new:
            while True:
                await self.write_message(self.script.build)
                await self.builds.new.wait()

    def on_close(self) -> None:
        self.telling.cancel()


class Start(Guarded):
    """Leads the browser that the preview opens to the book; good for once.

    The address of the book holds the token of the kernels, and a command line is no secret.
    """

    def initialize(self, host: str, tickets: dict[str, str]) -> None:
        super().initialize(host)
        self.tickets = tickets

    def get(self, ticket: str) -> None:
        if ticket not in self.tickets:
            raise web.HTTPError(404)
        self.redirect(self.tickets.pop(ticket))


def application(host: str, builds: Builds, tickets: dict[str, str]) -> web.Application:
    script = Script(builds)
    shared = {"host": host, "builds": builds, "script": script}
    return web.Application(
        [
            (r"/\.preview/builds", NewBuilds, shared),
            (r"/\.preview/start/(.*)", Start, {"host": host, "tickets": tickets}),
            (r"/(.*)", Pages, shared),
        ],
        log_function=lambda handler: None,
    )
