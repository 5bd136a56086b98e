"""Fixtures shared by the test files."""

import os
from pathlib import Path

import pytest
import torch
from support import copy_of_the_course

from minigpt.artifacts import load_model
from minigpt.corpus import Corpus, load_corpus
from minigpt.model import MiniGPT

# Small models have nothing to share out among threads, and on a busy machine threads wait for each
# other at every step.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for the kernels and programs that tests start


@pytest.fixture
def fork(tmp_path) -> Path:
    """Copy the course without its data, which are large, and its tests, whose forks are made up."""
    return copy_of_the_course(tmp_path / "fork", "data", "tests")


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Tiny Shakespeare, as committed."""
    return load_corpus()


@pytest.fixture(scope="session")
def trained() -> MiniGPT:
    """The trained mini-GPT, as committed."""
    return load_model()


@pytest.fixture
def generator() -> torch.Generator:
    """A source of chance of the test's own."""
    return torch.Generator().manual_seed(0)
