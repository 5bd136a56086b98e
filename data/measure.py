"""Score the chosen runs on the test split; write data/baselines.json and data/ablations.json.

    python data/measure.py

Runs trained here and not yet scored are scored first, once, and the result is written into their
file. The seeds 0 that the book and the lab read become data/*.safetensors. The README's table and
picture are made anew too.
"""

import math
import re
import shutil
from statistics import mean

import torch
from ablate import SMALLER_RATES, bigram_nats, choose_rate, run_path
from score import PROMPT, scores
from train import weights

from minigpt import figures
from minigpt.artifacts import DATA, SHIPPED, load_model, read_json, write_atomic, write_json
from minigpt.corpus import Corpus, load_corpus
from minigpt.evaluation import evaluate_ngram
from minigpt.inspection import attention_maps
from minigpt.ngram import NGram
from minigpt.rows import COUNTED, TRAINED
from minigpt.runs import SEEDS, reported, run_of
from minigpt.variants import VARIANTS


def score(record: dict, corpus: Corpus) -> None:
    """Add to the record of a run what is measured on the test split."""
    path, run = record.pop("path"), run_of(record)
    functions = VARIANTS[run.variant].functions if run.variant else {}
    print(f"scoring {run.name}")
    record |= scores(run, load_model(weights(run), **functions), corpus)
    shipped = SHIPPED.get(f"{run.model}-{run.size}")
    if shipped and run.seed == SEEDS[0] and not run.variant:
        shutil.copyfile(weights(run), shipped)
    write_json(path, record)
    record["path"] = path


def in_all_units(nats: float) -> dict[str, float]:
    return {"nats": nats, "perplexity": math.exp(nats), "bits": nats / math.log(2)}


def neural_row(name: str, runs: list[dict]) -> dict:
    """Summarize the seeds of one row: the mean and the range of their test scores."""
    nats = {str(run["seed"]): run["test"] for run in runs}
    return {
        "name": name,
        "parameters": runs[0]["parameters"],
        "steps": runs[0]["budget"]["steps"],
        "batch": runs[0]["budget"]["batch_size"],
        "seeds": len(runs),
        **in_all_units(sum(nats.values()) / len(nats)),
        "lowest": min(nats.values()),
        "highest": max(nats.values()),
        "by_seed": nats,
        "untrained": {str(run["seed"]): run["untrained_test"] for run in runs},
        "leak": max(max(run["leak"].values()) for run in runs),
    }


def baselines(corpus: Corpus) -> dict:
    """Make the results table from the runs and the n-grams."""
    rows = {}
    for key, row in COUNTED.items():
        nats = evaluate_ngram(NGram(row.n, row.k).fit(corpus["train"]), corpus, "test").nats
        rows[key] = {
            "name": row.name,
            "parameters": None,
            "steps": None,
            "batch": None,
            "seeds": None,
        }
        rows[key] |= in_all_units(nats)
    for key, row in TRAINED.items():
        runs = [run for run in reported(row.model, row.size) if run["test"] is not None]
        if runs:
            rows[key] = neural_row(row.name, runs)
    return {"test_characters": len(corpus["test"]), "rows": rows}


def variant_runs(variant: str, highest: float) -> tuple[list[dict], dict[str, float]]:
    """Find the finished runs of a variant, by seed, and what seed 0 scored with each rate tried.

    The rate is the one that the rule of ablate.py picks.
    """
    tried: dict[float, float] = {}

    def valid(rate: float) -> float:
        tried[rate] = read_json(run_path(variant, rate, SEEDS[0]))["valid"]
        return tried[rate]

    rate = choose_rate(valid, highest)
    paths = [run_path(variant, rate, seed) for seed in SEEDS]
    runs = [read_json(path) | {"path": path} for path in paths if path.exists()]
    return runs, {f"{rate:g}": nats for rate, nats in tried.items()}


def ablation_row(name: str, runs: list[dict]) -> dict:
    """Summarize the seeds of the mini-GPT or of a variant."""
    nats = {str(run["seed"]): run["test"] for run in runs}
    return {
        "name": name,
        "parameters": runs[0]["parameters"],
        "learning_rate": runs[0]["budget"]["learning_rate"],
        "nats": sum(nats.values()) / len(nats),
        "lowest": min(nats.values()),
        "highest": max(nats.values()),
        "by_seed": nats,
    }


def ablations(corpus: Corpus) -> dict:
    """Set the variants beside the mini-GPT of the same budget, and score those not yet scored."""
    highest = bigram_nats(corpus)
    rows = {"mini-gpt": ablation_row("the mini-GPT as it is", reported("gpt", "quick"))}
    for key, variant in VARIANTS.items():
        runs, tried = variant_runs(key, highest)
        for run in runs:
            if run["test"] is None:
                score(run, corpus)
        rows[key] = ablation_row(variant.name, runs)
        rows[key] |= {"valid_by_rate": tried, "texts": [run["text"] for run in runs]}
        if variant.reads_ahead:
            rows[key]["writing"] = mean([run["test_writing"] for run in runs])
            rows[key]["writing_full"] = mean([run["test_writing_full"] for run in runs])
    return {
        "test_characters": len(corpus["test"]),
        "bigram": {"valid": highest, "test": bigram_nats(corpus, "test")},
        "smaller_rates": list(SMALLER_RATES),
        "prompt": PROMPT,
        "rows": rows,
    }


def table(rows: dict) -> str:
    """Write the results as a Markdown table."""
    lines = [
        "| Model | Parameters | Steps × batch | Seeds | Nats | Perplexity | Bits |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows.values():
        spread = (
            f" ({row['lowest']:.4f} to {row['highest']:.4f})" if (row["seeds"] or 0) > 1 else ""
        )
        cells = [
            row["name"],
            f"{row['parameters']:,}" if row["parameters"] else "–",
            f"{row['steps']:,} × {row['batch']}" if row["steps"] else "counts",
            str(row["seeds"] or "–"),
            f"{row['nats']:.4f}{spread}",
            f"{row['perplexity']:.2f}",
            f"{row['bits']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_results(readme: str, rows: dict) -> str:
    """Put the results table between its two marks in the README."""
    marks = re.compile(r"(<!-- results[^>]*-->\n).*?(<!-- end of results -->)", re.S)
    marked, found = marks.subn(lambda mark: f"{mark[1]}{table(rows)}\n{mark[2]}", readme)
    if found != 1:
        raise ValueError("the README has lost the two marks between which its results stand")
    return marked


def draw_readme_figure(corpus: Corpus) -> None:
    text = "To be,"
    maps = attention_maps(load_model(), corpus.vocabulary.encode(text)[None])[:, 0]
    layer, head = figures.most_spread_head(maps)
    drawing = figures.causal_weights(maps[layer - 1, head - 1], text, layer, head)
    drawing.save(DATA.parent / "book" / "assets" / "causal-mask.svg")


def main() -> None:
    corpus = load_corpus()
    torch.set_grad_enabled(False)
    for row in TRAINED.values():
        for run in reported(row.model, row.size):
            if run["test"] is None:
                score(run, corpus)
    result = baselines(corpus)
    write_json(DATA / "baselines.json", result)
    write_json(DATA / "ablations.json", ablations(corpus))
    readme = DATA.parent / "README.md"
    write_atomic(readme, with_results(readme.read_text(), result["rows"]).encode())
    draw_readme_figure(corpus)
    for row in result["rows"].values():
        seeds = f"{row['seeds']} seeds" if row["seeds"] else "counts"
        print(f"{row['name']:40}{row['nats']:.4f} nats  {seeds}")


if __name__ == "__main__":
    main()
