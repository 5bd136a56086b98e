"""What the lab's notebook needs around the lesson, in the order in which it comes up."""

from minigpt.lab.predictions import Predictions, predict
from minigpt.lab.results import Trained, load_lstms, ngram_nats, recorded_curves, results
from minigpt.lab.runtime import start
from minigpt.lab.saved_work import load_committed, restore_work, save_work

__all__ = [
    "Predictions",
    "Trained",
    "load_committed",
    "load_lstms",
    "ngram_nats",
    "predict",
    "recorded_curves",
    "restore_work",
    "results",
    "save_work",
    "start",
]
