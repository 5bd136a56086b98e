"""What several test files build or expect: small models, a small corpus, a fork, a tally."""

import random
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from minigpt import checks
from minigpt.corpus import Corpus, split_corpus
from minigpt.model import Config, MiniGPT

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ("attention", "mask", "embed", "block")


def randomize(model: nn.Module, std: float = 0.3, seed: int = 0) -> nn.Module:
    """Give every trainable weight a random value, so that none stands at a neutral 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            for parameter in module.parameters(recurse=False):
                if parameter.requires_grad:
                    parameter.normal_(0.0, std, generator=generator)
                    if isinstance(module, nn.LayerNorm) and parameter is module.weight:
                        parameter += 1.0
    return model


def random_model(*, std: float = 0.3, seed: int = 0, **options) -> MiniGPT:
    """Build a small random model in evaluation mode; options go to Config or to MiniGPT."""
    functions = {name: options.pop(name) for name in FUNCTIONS if name in options}
    sizes = {"vocab_size": 11, "d": 16, "n_h": 4, "n_l": 2, "T_max": 12} | options
    with torch.random.fork_rng(devices=[]):
        model = MiniGPT(Config(**sizes), **functions)
    return randomize(model, std, seed).eval()


def random_text(*shape: int, vocab_size: int = 11, seed: int = 0) -> Tensor:
    """Draw a text of the given shape."""
    return torch.randint(vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def small_corpus(length: int = 4_000) -> Corpus:
    """Write sentences of a handful of words: easy to predict, but not by heart."""
    words = random.Random(0).choices(["the cat", "sat", "on", "a mat", "and", "slept."], k=length)
    return split_corpus(" ".join(words)[:length], length - 600, 300)


def same_bits(first: nn.Module, second: nn.Module) -> bool:
    """Say whether two models of one architecture hold the same weights, bit for bit."""
    one, two = first.state_dict(), second.state_dict()
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def copy_of_the_course(folder: Path, *left_out: str) -> Path:
    """Commit what git tracks here, as it is now, to a repository of its own."""
    listed = ["git", "-C", ROOT, "ls-files", "-z", "--", *(f":!{name}" for name in left_out)]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    commit_all(folder)
    return folder


def commit_all(folder: Path) -> None:
    """Make a repository of a folder and commit what is in it."""
    who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for step in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "all of it"]):
        subprocess.run(["git", "-C", folder, *step], check=True, capture_output=True)


def tally(names: Sequence[str], heading: str, passed: int, unwritten: int = 0) -> str:
    """Give the line of a notebook's tally for a group of exercises."""
    line = f"{heading}: {passed} of {len(names)} passed"
    return line + (f", {unwritten} of {len(names)} not attempted" if unwritten else "")


core = partial(tally, checks.CORE, "Core exercises")
challenge = partial(tally, checks.CHALLENGE, "Challenge (optional)")
variants = partial(tally, checks.VARIANTS, "Variants")
