"""Show the book while it is being written: what is saved is built, and open pages reload.

    python book/preview [--port 8000] [the folder of a book]

It listens on this machine alone, and ends, with all that it started, on Ctrl-C. Live Code gets a
Jupyter server of its own (kernels.py); how the book is built stands in builds.py.
"""

import argparse
import asyncio
import contextlib
import errno
import fcntl
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
import webbrowser
from pathlib import Path

import kernels
import pages
import processes
import yaml
from builds import Builds
from made_from import ROOT
from tornado import httpserver, netutil

LOOPBACK = "127.0.0.1"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def say(line: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be closed
        print(time.strftime("%H:%M:%S "), line, flush=True)


def lock(file: Path):
    """Keep a second preview of the same book away, which would build in the same folder."""
    held = file.open("a+")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.seek(0)
        sys.exit(f"This book has a preview already, at {held.read()}: open that, or stop it first.")
    return held


def listen(port: int) -> list:
    if not 0 <= port < 2**16:  # the system would take the rest of a division
        sys.exit(f"There is no port {port}. Choose another one: make preview PORT=8000")
    try:
        return netutil.bind_sockets(port, LOOPBACK)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "is taken by another program" if taken else f"cannot be used ({error})"
        other = port + 1 if taken else 8000
        sys.exit(f"Port {port} {why}. Choose another one: make preview PORT={other}")


def open_browser(address: str) -> None:
    """Open the default browser where there is one, without waiting for it."""
    screen = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    with contextlib.suppress(webbrowser.Error):
        if screen and webbrowser.open(address):
            return
    say("There is no browser here that could be opened: open the address above yourself.")


async def announce(builds: Builds, site: str, fragment: str, tickets: dict[str, str]) -> None:
    """Name the book's address as soon as there is something to see."""
    async with builds.new:
        await builds.new.wait_for(builds.has_pages)
    root = yaml.safe_load((builds.book / "_toc.yml").read_text())["root"]
    address = f"{site}/{root}.html{fragment}"
    say(f"Ready, with a kernel for Live Code: {address}" if fragment else f"Ready: {address}")
    say("Ctrl-C ends it all.")
    ticket = secrets.token_urlsafe()
    tickets[ticket] = address
    # A thread that nobody waits for: some browsers come back only when they are closed.
    way = f"{site}/.preview/start/{ticket}"
    threading.Thread(target=open_browser, args=(way,), daemon=True).start()


async def preview(book: Path, port: int) -> None:
    home = book / ".preview"
    home.mkdir(mode=0o700, exist_ok=True)
    with lock(home / "lock") as held, tempfile.TemporaryDirectory() as folder:
        sockets = listen(port)
        host = "{}:{}".format(*sockets[0].getsockname())
        site = f"http://{host}"
        held.truncate(0)
        held.write(site)
        held.flush()
        for one in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(one, asyncio.current_task().cancel)
        say(f"The pages will be at {site}/; what you save is built, and open pages reload.")
        builds, tickets = Builds(book, home, say), {}
        server = httpserver.HTTPServer(pages.application(host, builds, tickets))
        server.add_sockets(sockets)
        log = home / "kernels.log"
        trouble = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(builds.keep_building())
                jupyter, fragment = await kernels.start(Path(folder), log, site)
                tasks.create_task(kernels.watch(jupyter, log, say))
                tasks.create_task(announce(builds, site, fragment, tickets))
        except* asyncio.CancelledError:
            say("Stopping.")
        except* OSError as errors:
            trouble = f"The preview had to stop: {errors.exceptions[0]}"
        finally:
            processes.stop_all()
    sys.exit(trouble)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("book", type=Path, nargs="?", default=ROOT)
    options = parser.parse_args()
    if not (options.book / "_toc.yml").is_file():
        parser.error(f"there is no book in {options.book}: its _toc.yml is missing")
    asyncio.run(preview(options.book.resolve(), options.port))


if __name__ == "__main__":
    main()
