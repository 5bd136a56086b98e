"""Score a finished run on the test split, and the model as it was before it was trained."""

from copy import deepcopy

import torch
from torch import nn

from minigpt.corpus import Corpus
from minigpt.evaluation import evaluate, split_nats, windows, writing_nats
from minigpt.inspection import model_leak_test
from minigpt.model import MiniGPT
from minigpt.runs import Run
from minigpt.sampling import sample_text

BLOCK = 500  # characters of the test split, whose mean losses are kept one by one
PROMPT, LENGTH = "KING RICHARD:\n", 350  # of the text that each variant writes


@torch.no_grad()
def scores(run: Run, model: nn.Module, corpus: Corpus) -> dict:
    """Give what is added to the record of a run that is scored on the test split.

    Returns:
        ``test``, the mean loss in nats per character; ``test_blocks``, the mean of each 500
        characters, the last block being shorter; ``untrained_test``; ``leak``; and for a variant
        a ``text`` that it wrote.
    """
    model, start = deepcopy(model).eval(), run.untrained().eval()
    nats = split_nats(model, corpus, "test").double()
    text = corpus["test"][None, : run.budget.T]
    added = {
        "test": nats.mean().item(),
        "test_blocks": [block.mean().item() for block in nats.split(BLOCK)],
        "untrained_test": evaluate(start, corpus, "test").nats,
        "leak": {
            "untrained": model_leak_test(start, text, 64),
            "trained": model_leak_test(model, text, 64),
        },
    }
    if run.variant:
        written = {"seed": run.seed, "cached": False}  # without a mask no key may be kept
        added["text"] = sample_text(model, corpus.vocabulary, PROMPT, LENGTH, **written)
    if run.reads_ahead:
        added |= writing_scores(model, corpus)
    return added


def writing_scores(model: MiniGPT, corpus: Corpus) -> dict[str, float]:
    """Score a model at the end of its texts, over all of them and over those of full length.

    At the last position of a window no model can read ahead, mask or not. A model without a mask
    was trained to predict there, and only there.
    """
    start, stop = corpus.bounds["test"]
    nats = writing_nats(model, corpus.ids, start, stop)
    T = model.config.T_max
    last = [begin + T - start for begin, _ in windows(start, stop, T)]
    return {
        "test_writing": nats.double().mean().item(),
        "test_writing_full": nats[last].double().mean().item(),
    }
