# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   # Colab starts a notebook that asks for a GPU on one.
#   accelerator: GPU
#   colab:
#     gpuType: T4
#   # For the page of the book that the notebook becomes.
#   myst:
#     html_meta:
#       description: "The lab: write attention, its mask and positions yourself, put them into a small GPT,
#         train it on Shakespeare and look inside."
# ---

# %% [markdown]
# # Lab: Build and Train a Mini-GPT
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](colab)
#
# You write the four functions that make a Transformer: attention, its mask, positions, and a measure of what the heads do.
# They go into a small GPT. You train it on Shakespeare, compare it fairly with an LSTM, and look inside.
#
# **What to read beside it.** Sections and equations are those of [the briefing](page:book/index). Each exercise says which section it belongs to.
#
# **Time.** 50 minutes in two parts. Part A builds the model (exercises 0 to 3), part B trains it, compares it and looks at
# its heads (exercises 4 and 5). A challenge at the end is optional.
#
# **Accounts and cost.** A Google account if you work in Colab, nothing otherwise. It is free and needs no keys.
#
# **Before you start, in Colab:** *Runtime → Change runtime type → T4 GPU*, then *Connect*. If Colab is down, the same notebook
# runs on [Binder](binder), or in Jupyter on your own machine: clone the repository and give the command `make lab`.
#
# **How an exercise looks.** A few sentences say what to write. A *stub* follows: the function's head and a `# TODO`. Where people tend to
# stall there is a folded hint above it, and always a folded solution beneath it. Then a *checkpoint* tells you whether yours is
# right. If not, it says which idea went wrong and shows a tiny case. It then lends you the course's own function, so that you can
# always go on and come back later. You can run a cell as often as you like. Run them in order: if Python says that a name is not defined, a
# cell further up was left out.

# %% [markdown]
# ## Set-up
#
# Run this cell first, and again whenever you like. In Colab it fetches the course. On your own machine it finds the clone around this
# notebook. Then it says where you are, how long training will take there, and what to do without a GPU. Where the machine can multiply
# matrices in bfloat16, a shorter kind of number, it tries whether that is faster.

# %% tags=["hide-input"] cellView="form"
# {set-up}

from minigpt import lab

runtime = lab.start()


# %%
import inspect
import math

import torch

from minigpt import checks, figures
from minigpt.corpus import load_corpus
from minigpt.evaluation import evaluate_gpt, evaluate_lstm
from minigpt.inspection import attention_maps, model_leak_test
from minigpt.attention import MultiHeadAttention
from minigpt.model import Block, Config, FeedForward, MiniGPT
from minigpt.sampling import sample_text
from minigpt.training import train_lm

predict = lab.predict
corpus = load_corpus()
excerpt = corpus["valid"][None, :128].to(runtime.device)  # (1, T)
print(
    f"{len(corpus.ids):,} characters of Shakespeare, {len(corpus.vocabulary)} of them distinct"
)


# %% [markdown]
# ## Part A · Build the model
#
# One letter stands for each dimension, here and everywhere: `B` texts in a batch, `T` positions in a text, `d` the width of the
# model, `n_h` heads, `d_k = d / n_h` the width of one head.
#
# A *head* is one attention step, with queries, keys and values of its own. A layer runs `n_h` of them side by side. A *block* is such a
# layer followed by a small network, and each of these two *sublayers* adds its output to the vectors that run through the
# model, the *stream*. Four blocks, one after the other, make the model.

# %% [markdown]
# ### Exercise 0 · Read the model
#
# *3 minutes. The block is explained in [section 6](section-6), the whole model in [section 7](section-7).*
#
# You write nothing yet. Below are the two places where a Transformer does its work: the block, and the multi-head layer inside it. Your
# attention function will be called from one of them. Find the line that hands it `Q`, `K`, `V` and the mask, and note the shape that the
# three have there: your function in exercise 1 will be given just that.
#
# Skip what concerns `cache` (for writing faster) and `rotate` (another kind of positions), and read only the branch under `if self.pre_norm`.

# %%
print(inspect.getsource(Block.forward))
print(inspect.getsource(MultiHeadAttention.forward))

# %% [markdown]
# **Predict, then run.** Replace each `None` by your guess. Nobody marks it: a guess makes you notice what you did not expect.
#
# The model has four blocks of width `d = 128`. It knows 65 characters and reads up to 128 of them at a time. A block holds four `d × d` matrices for
# attention, and two more of `d × 4d` for its small network. How many parameters does the model have, roughly?

# %%
predict("Exercise 0: class that calls attention", None)  # in quotes
predict("Exercise 0: parameters of the model", None)  # a number


# %% [markdown]
# **Checkpoint 0.** An untrained model knows nothing, so all 65 characters should be about equally likely to it. Such a model has a loss of
# $\ln 65$ nats per character. The *loss* is the mean of $-\log$ of the probability that the model gives to the character that really
# comes next; *nats* are its unit.

# %%
torch.manual_seed(0)
first = MiniGPT(Config()).to(runtime.device)
parameters = sum(p.numel() for p in first.parameters())
loss = evaluate_gpt(first, corpus, "valid").nats

layers = (Block, MultiHeadAttention)
(caller,) = (c for c in layers if "self.attention" in inspect.getsource(c.forward))
predict.compare("Exercise 0: class that calls attention", caller.__name__)
predict.compare("Exercise 0: parameters of the model", parameters)
for part, module in first.named_children():
    count = sum(p.numel() for p in module.parameters())
    if count:
        print(f"    {part:8}{count:10,}")
print()
checks.confirm(
    "the model has 824,897 parameters", parameters == 824_897, f"{parameters:,}"
)
checks.confirm(
    "untrained, its loss is within 0.1 of ln 65",
    abs(loss - math.log(65)) < 0.1,
    f"{loss:.4f}, and ln 65 = {math.log(65):.4f}",
)

# %% [markdown]
# ### Exercise 1 · Scaled dot-product attention
#
# *12 minutes. [Section 2](section-2).*
#
# Each position asks with its *query* (a row of `Q`), is found by its *key* (a row of `K`), and hands over its *value* (a row of `V`).
# The *score* of a query and a key is their dot product, divided by $\sqrt{d_k}$. A softmax turns each row of scores into weights
# that sum to 1, and the output is the average of the values under those weights:
#
# $$A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right), \qquad \bar{V} = A V.$$
#
# Write it for inputs of shape `(..., T, d_k)`, whatever stands in place of the dots. The model calls it with `(B, n_h, T, d_k)`, in training for
# example `(64, 4, 128, 32)`: 64 texts, 4 heads, 128 positions, 32 numbers. When a `mask` is given, it is boolean, `(T, T)`, and `True` where a
# position may read. Scores that are not allowed have to become minus infinity before the softmax.

# %% [markdown]
# <details>
# <summary>Hint: which axes?</summary>
#
# Count axes from the end. The last two, `-2` and `-1`, are the same two however many stand before them. `K.transpose(-2, -1)` exchanges
# them. `@` is a matrix product over the last two, done for everything in front: `(64, 4, 128, 32) @ (64, 4, 32, 128)` gives `(64, 4, 128, 128)`.
#
# </details>
#
# <details>
# <summary>Hint: how to mask?</summary>
#
# Ask `if mask is not None:`. `x.masked_fill(condition, value)` gives a copy of `x` with `value` where `condition` is `True`. Your mask says where
# reading *is* allowed, and `~mask` is its opposite. Minus infinity is `-math.inf`.
#
# </details>


# %%
def scaled_dot_product_attention(Q, K, V, mask=None):
    """Inputs (..., T, d_k); the mask says True where reading is allowed. Returns V_bar, A."""
    # TODO 1: the scores, (..., T, T): every query against every key, divided by the root of d_k
    # TODO 2: if there is a mask, minus infinity where it is False
    # TODO 3: the weights A, (..., T, T): a softmax over each row
    # TODO 4: the averages V_bar, (..., T, d_k); return V_bar, A
    ### BEGIN SOLUTION
    width = K.size(-1)
    similarity = torch.matmul(Q, K.mT) / width**0.5  # (..., T, T)
    if mask is not None:
        similarity = torch.where(mask, similarity, -math.inf)
    A = similarity.softmax(dim=-1)  # (..., T, T)
    return torch.matmul(A, V), A  # (..., T, d_k), (..., T, T)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint 1**

# %%
scaled_dot_product_attention = checks.scaled_dot_product_attention(
    scaled_dot_product_attention
)

# %% [markdown]
# **Why the root?** A dot product of two random vectors is a sum of $d_k$ terms. Take queries and keys whose coordinates are
# independent, with mean 0 and variance 1. What is the spread of their products (the standard deviation) at $d_k = 16$, 64 and 256? And after
# division by $\sqrt{d_k}$? Predict three numbers for each.

# %%
predict("Exercise 1: spread of the products, d_k = 16, 64, 256", [None, None, None])
predict("Exercise 1: spread after the division", [None, None, None])

# %%
generator = torch.Generator().manual_seed(0)
plain, scaled, largest = [], [], []
for d_k in (16, 64, 256):
    Q, K = torch.randn(2, 400, d_k, generator=generator)  # (400, d_k) each
    products = Q @ K.T  # (400, 400)
    plain.append(products.std().item())
    scaled.append((products / d_k**0.5).std().item())
    # Ten positions, by your function. Queries that are √d_k times as long undo the division.
    Q, K, V = torch.randn(3, 1000, 10, d_k, generator=generator)
    rows = [
        scaled_dot_product_attention(Q * factor, K, V)[1]
        for factor in (d_k**0.5, 1)
    ]
    largest.append([A.amax(dim=-1).mean().item() for A in rows])

predict.compare("Exercise 1: spread of the products, d_k = 16, 64, 256", plain)
predict.compare("Exercise 1: spread after the division", scaled)
print("\nLargest of ten weights in a row of A, on average:")
for d_k, (without, with_root) in zip((16, 64, 256), largest):
    print(
        f"  d_k = {d_k:3}: {without:.2f} without the division, {with_root:.2f} with it"
    )

# %% [markdown]
# [Equation 5](eq-5) says that the spread is $\sqrt{d_k}$ without the division and 1 with it. Do your numbers fit? Without it the rows of `A` come close to all
# or nothing as $d_k$ grows. The weights then hardly move when the scores do, so almost no gradient comes through. This is about vectors of unit size. Our
# model starts with smaller ones, and meets the question when they have grown.

# %% [markdown]
# ### Exercise 2 · The causal mask
#
# *8 minutes. [Section 3](section-3).*
#
# A language model predicts the next character at every position at once. If a position could read what comes after it, it would
# copy the answer in place of predicting it. The causal mask prevents that: position $t$ may read position $i$ when $i \le t$
# ([equation 6](eq-6)). Write a function that gives it for any length `T`.

# %% [markdown]
# <details>
# <summary>Hint: two ways</summary>
#
# `t = torch.arange(T)` holds the numbers of the positions. `t[:, None]` makes a column of them, `(T, 1)`, and a column compared with a row gives
# a `(T, T)` table of `True` and `False`. Or look at `torch.tril`, which keeps the lower left triangle of a matrix. It gives numbers, so turn them into
# booleans.
#
# </details>


# %%
def causal_mask(T):
    """Returns a boolean (T, T): row t, column i is True where position t may read position i."""
    # TODO: one line, or two
    ### BEGIN SOLUTION
    number = torch.arange(T)  # (T,)
    return number.unsqueeze(1) >= number  # (T, T)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint 2**

# %%
causal_mask = checks.causal_mask(causal_mask)

# %% [markdown]
# **The leak test.** Your mask and your attention function now work together, here on random queries, keys and values for six
# characters. Above the diagonal there must be exact zeros. That alone is not proof, as [section 3](section-3) shows. So we also replace
# the fifth character by another one, and see whether the outputs before it move.

# %%
generator = torch.Generator().manual_seed(1)
Q, K, V = torch.randn(3, 6, 8, generator=generator)  # (T, d_k) each, T = 6
mask = causal_mask(6)
open_weights = scaled_dot_product_attention(Q, K, V)[1]
before, masked_weights = scaled_dot_product_attention(Q, K, V, mask)

changed = [x.clone() for x in (Q, K, V)]
for x in changed:
    x[4] = torch.randn(8, generator=generator)  # another character in fifth place
after, _ = scaled_dot_product_attention(*changed, mask)

above = masked_weights.triu(1).abs().max().item()
moved = (after - before).abs().amax(dim=-1)  # (T,)
checks.confirm(
    "under the mask, nothing above the diagonal",
    above == 0,
    f"largest weight {above}",
)
checks.confirm(
    "a later character changed, the past stands still",
    moved[:4].max().item() == 0 and moved[4:].min().item() > 0,
    f"positions 1 to 4 moved by {moved[:4].max().item()}, 5 and 6 by up to {moved.max():.2f}",
)

# %% tags=["hide-input"]
figures.weight_maps(
    "mask-maps",
    {"without a mask": open_weights, "with the mask": masked_weights},
    "To be,",
)

# %% [markdown]
# ### Exercise 3 · Positions
#
# *6 minutes. [Section 5](section-5).*
#
# Attention adds up what it reads, and a sum does not know its order. Before you mend that, see it happen. `listen!` and `silent!`
# are made of the same characters and end in the same one. Below, both go through attention layers that know characters and no
# positions.

# %%
torch.manual_seed(0)
tokens = torch.nn.Embedding(len(corpus.vocabulary), 128)
layers = [
    MultiHeadAttention(128, 4, attention=scaled_dot_product_attention)
    for _ in range(2)
]
words = [corpus.vocabulary.encode(word)[None] for word in ("listen!", "silent!")]
outputs = [tokens(word) for word in words]  # (1, 7, d) each
for depth, layer in enumerate(layers, 1):
    with torch.no_grad():
        outputs = [layer(H, causal_mask(7)) for H in outputs]
    difference = (outputs[0] - outputs[1])[0, -1].abs().max().item()
    print(
        f"after {depth} layer{'s' if depth > 1 else ' '}: the outputs at the ! differ by {difference:.1e}"
    )

# %% [markdown]
# After one layer the two words are the same to the `!`, up to the last digit of the arithmetic. After two they are not: under the mask
# the second character has read more than the first, and a second layer can see that. It is a weak and indirect sign of order. A
# model needs a better one.
#
# So give each position a vector of its own, learned like the rest, and add it to the embedding of the character that stands there
# ([equation 8](eq-8)). Write this input step of the model. An `nn.Embedding` is a table of vectors. Called with whole numbers it gives their rows:
# `tok_emb(idx)` turns characters `(B, T)` into vectors `(B, T, d)`.

# %% [markdown]
# <details>
# <summary>Hint: what goes into pos_emb?</summary>
#
# The numbers of the positions: 0, 1, ..., T - 1. All texts of the batch share them, and adding `(T, d)` to `(B, T, d)` does just that. On a GPU the
# numbers have to lie there too: `torch.arange(T, device=idx.device)`.
#
# </details>


# %%
def embed_with_positions(idx, tok_emb, pos_emb):
    """idx: (B, T); both embeddings nn.Embedding of width d. Returns (B, T, d)."""
    # TODO: the embedding of each character plus the embedding of its position
    ### BEGIN SOLUTION
    T = idx.shape[1]
    place = pos_emb(torch.arange(T, device=idx.device))  # (T, d)
    return place + tok_emb(idx)  # (B, T, d)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint 3**

# %%
embed_with_positions = checks.embed_with_positions(embed_with_positions)

# %% [markdown]
# **The model is complete.** Your three functions go in through its constructor. Everything else is what you read in exercise 0. Now the leak
# test meets the whole model: 128 characters are read, the 81st is changed, and no logit before it may move at all. (A *logit* is the number that
# the model gives to a candidate for the next character.)

# %%
torch.manual_seed(0)
untrained = MiniGPT(
    Config(),
    attention=scaled_dot_product_attention,
    mask=causal_mask,
    embed=embed_with_positions,
).to(runtime.device)
leak = model_leak_test(untrained, excerpt, position=80)
checks.confirm(
    "the untrained model does not read ahead",
    leak == 0,
    f"earlier logits moved by {leak}",
)

# %% [markdown]
# ## Part B · Train, compare, look

# %% [markdown]
# ### Exercise 4 · Train the mini-GPT and compare it with the LSTM
#
# *14 minutes, some of them waiting. [Section 7](section-7) and [section 8](section-8).*
#
# The model trains on random windows of 128 characters. At each position it predicts the next character and is told which one really came. An
# *LSTM*, a recurrent network that reads one character after the other, was trained beforehand by the same loop and for as many steps. *n-grams* stand beside
# them: they only count which character followed the last two (trigram) or the last four (5-gram). Who will best predict a text that none of them has seen?
#
# **Predict first.** The score is in nats per character, the lower the better. An untrained model is near $\ln 65 = 4.17$, and the trigram gets
# the number that the cell prints.

# %%
print(f"trigram: {lab.ngram_nats('trigram'):.2f} nats per character\n")

predict("Exercise 4: who is best", None)  # "5-gram", "LSTM" or "mini-GPT"
predict("Exercise 4: nats of your mini-GPT", None)  # a number

# %% [markdown]
# **Train (4a).** The bar shows the time left, the loss and the speed. You may interrupt it with the stop button: the model keeps what it
# has learned so far. While it runs, read [section 8](section-8) on what can run at the same time and what cannot.

# %% tags=["hide-output"]
torch.manual_seed(0)
model = MiniGPT(
    Config(),
    attention=scaled_dot_product_attention,
    mask=causal_mask,
    embed=embed_with_positions,
).to(runtime.device)
history = train_lm(model, corpus, runtime.budget, precision=runtime.precision)
trained = lab.Trained(model, history, runtime.size)
print(
    f"{history.steps:,} steps in {history.seconds:,.0f} seconds ({history.precision})"
)

# %% [markdown]
# **Lost the runtime, or out of time?** Write `LOAD = True` in this cell and run it in place of the training cell above; set-up and the cells of exercises 1 to 3 come
# first. The course's own trained model then runs under your functions, and you go on from here.

# %%
LOAD = False
if LOAD:
    trained = lab.load_committed(
        runtime.device,
        attention=scaled_dot_product_attention,
        mask=causal_mask,
        embed=embed_with_positions,
    )

# %% [markdown]
# **Keep your work.** A runtime in Colab forgets everything when it ends. Write `SAVE = True` and run the cell: your model, your predictions and your code go
# into one file, which Colab downloads.

# %%
SAVE = False
if SAVE:
    lab.save_work(trained)

# %% [markdown]
# **Take it up again** in a new runtime: set-up and exercises 1 to 3 first, then `RESTORE = True` here. The model and the predictions come back. Code that you
# had written and that is missing here is printed, for you to paste into its cell.

# %%
RESTORE = False
if RESTORE:
    trained = lab.restore_work(
        runtime.device,
        attention=scaled_dot_product_attention,
        mask=causal_mask,
        embed=embed_with_positions,
    )

# %% [markdown]
# **Checkpoint 4b.** The leak test again, now that the weights mean something.

# %%
leak = model_leak_test(trained.model, excerpt, position=80)
checks.confirm(
    "the trained model does not read ahead",
    leak == 0,
    f"earlier logits moved by {leak}",
)

# %% [markdown]
# **Score.** Every model predicts the same 60,394 characters of the test text, each of them once. The mini-GPT reads windows of 128 characters and is
# scored on the second half of each, so that it always has 65 to 128 characters of context. The LSTM carries its state over the whole text. That is how each is
# used; it is not the same context. Two LSTMs stand in the table. One had the simpler training of Lab 3. The other had the very loop and the number of steps of your
# mini-GPT: it is the fair partner.

# %% tags=["hide-output"]
lstms = lab.load_lstms(trained.size, runtime.device)
scores = {"gpt": evaluate_gpt(trained.model, corpus)}
scores |= {name: evaluate_lstm(lstm, corpus) for name, lstm in lstms.items()}
lab.results(trained, scores, lstms)

# %% tags=["hide-input", "hide-output"]
figures.learning_curve(trained.history.curve, lab.recorded_curves(trained.size))

# %% tags=["hide-output"]
nats = {"5-gram": lab.ngram_nats("5-gram"), "mini-GPT": scores["gpt"].nats}
nats["LSTM"] = min(scores[name].nats for name in lstms)
predict.compare("Exercise 4: who is best", min(nats, key=nats.get))
predict.compare("Exercise 4: nats of your mini-GPT", nats["mini-GPT"])

below = lab.ngram_nats("trigram") - nats["mini-GPT"]
said = f"{abs(below):.2f} nats {'below' if below > 0 else 'above'} the trigram"
if trained.size == "full" and trained.history.steps >= 3_000:
    checks.confirm(
        "trained in full, at least 0.1 nats below the trigram", below >= 0.1, said
    )
else:
    print(
        f"\nYour mini-GPT is {said}. After a short training nothing is demanded of it."
    )

# %% [markdown]
# **Read the table with care.** What is the same for the mini-GPT and its partner: the text, the loop, the number of steps, the characters scored. What is not:
# the mini-GPT has more than twice the parameters and sees at most 128 characters, and the seconds differ. The last column
# shows how far trainings of the same model lie apart that differ in chance alone. A gap that is not clearly larger than
# that says little. And one megabyte of text with a few thousand steps says nothing about models of another size.
#
# **Let it write.** Each character is drawn from the model's own prediction. The *temperature* sharpens the draw below 1 and flattens it above. One
# character takes one pass through the model, so 300 characters take 300 passes, one after the other.

# %%
print(
    sample_text(
        trained.model,
        corpus.vocabulary,
        "ROMEO:\n",
        300,
        temperature=0.8,
        cached=False,
    )
)

# %% [markdown]
# ### Exercise 5 · Looking at the heads
#
# *7 minutes. [Section 4](section-4).*
#
# The model has 16 heads, four in each of its four layers, and each has its own way of reading. One number says how far back a head looks: the
# distance $t - i$ from the position that reads to the one that is read, weighted by how much it is read, $\sum_i \alpha_{t,i} (t - i)$, and averaged over
# all positions $t$ and all texts. Write it for the weights of one layer.

# %% [markdown]
# <details>
# <summary>Hint: a table of distances</summary>
#
# Make a `(T, T)` table whose row $t$, column $i$ holds $t - i$: a column minus a row, as for the mask (and `device=A.device`). Multiply `A` by it cell by cell, with `*`:
# the table serves every text and head. Sum over the last axis, `(B, n_h, T)`, then take the mean over all axes but the heads, `dim=(0, 2)`.
#
# </details>


# %%
def mean_attention_distance(A):
    """A: causal weights, (B, n_h, T, T). Returns one number per head, (n_h,)."""
    # TODO 1: the distances t - i, (T, T)
    # TODO 2: for each row the sum of weight times distance; then the mean over rows and batch
    ### BEGIN SOLUTION
    number = torch.arange(A.size(-1), device=A.device)
    back = number.unsqueeze(1) - number  # (T, T): t - i
    per_row = torch.einsum("bhti,ti->bht", A, back.to(A.dtype))  # (B, n_h, T)
    return per_row.mean(dim=(0, 2))  # (n_h,)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint 5**

# %%
mean_attention_distance = checks.mean_attention_distance(mean_attention_distance)

# %% [markdown]
# **Predict.** In which layer, 1 to 4, is the head that looks back furthest? Layer 1 reads single characters, layer 4 reads what the others have made of
# them.

# %%
predict("Exercise 5: layer of the furthest head", None)  # 1, 2, 3 or 4

# %%
texts = corpus["test"][: 16 * 128].view(16, 128).to(runtime.device)  # (B, T)
maps = attention_maps(trained.model, texts)  # (n_l, B, n_h, T, T)
distances = torch.stack([mean_attention_distance(A) for A in maps]).cpu()
# (n_l, n_h): one number per head


for layer, row in enumerate(distances.tolist(), 1):
    print(
        f"layer {layer}:  "
        + "  ".join(f"head {h} {x:5.1f}" for h, x in enumerate(row, 1))
    )
furthest, head = divmod(int(distances.argmax()), distances.size(1))
print()
predict.compare("Exercise 5: layer of the furthest head", furthest + 1)

# %% tags=["hide-input"]
figures.head_distances(distances)

# %% [markdown]
# **The maps themselves**, for the first and the last layer, on 40 characters of the test text. Each row of a map is one position, and shows where it reads. Look for
# heads that read the character just before (a line along the diagonal), heads that spread their weight, and heads in which many positions read the same place
# (a column).

# %% tags=["hide-input"]
passage = corpus["test"][:40]
one_text = passage[None].to(runtime.device)  # (1, T)
small = attention_maps(trained.model, one_text)[:, 0]  # (n_l, n_h, T, T)

print(repr(corpus.vocabulary.decode(passage)))
figures.weight_maps(
    "head-maps",
    {
        f"layer {layer + 1}, head {head + 1}": small[layer, head]
        for head in range(small.size(1))
        for layer in (0, small.size(0) - 1)
    },
    corpus.vocabulary.decode(passage),
)

# %% [markdown]
# A map says where a head reads, not what the model does with it. After a few steps of training the heads hardly differ. In layer 4 each vector that is read is already a mixture of many
# characters. Take the maps as a place to ask questions, not as an explanation.

# %% [markdown]
# ## Challenge · Write the multi-head layer and the block yourself
#
# *Optional, for whoever is done early. [Section 4](section-4) and [section 6](section-6).*
#
# Both constructors are given. Write what happens to a batch of vectors `H`, of shape `(B, T, d)`. The checkpoint gives your layer the weights of the course's own
# and compares the outputs.

# %% [markdown]
# <details>
# <summary>Hint: the split</summary>
#
# After `self.W_Q(H)` the last axis holds the heads side by side. `.view(B, T, n_h, d_k)` cuts it, and `.transpose(1, 2)` brings the heads in front of the
# positions, where your attention function takes them for one more batch dimension. On the way back do the same in reverse, with `.reshape(B, T, d)`.
#
# </details>


# %%
class MyMultiHeadAttention(torch.nn.Module):
    def __init__(self, d, n_h, *, attention=scaled_dot_product_attention):
        super().__init__()
        self.n_h, self.attention = n_h, attention
        self.W_Q = torch.nn.Linear(d, d, bias=False)
        self.W_K = torch.nn.Linear(d, d, bias=False)
        self.W_V = torch.nn.Linear(d, d, bias=False)
        self.W_proj = torch.nn.Linear(d, d)

    def forward(self, H, mask=None):
        """H: (B, T, d). Returns (B, T, d)."""
        # TODO: project, cut into heads, attend with self.attention, join the heads, mix them
        ### BEGIN SOLUTION
        B, T, d = H.shape
        parts = []
        for W in (self.W_Q, self.W_K, self.W_V):
            heads = W(H).reshape(B, T, self.n_h, d // self.n_h)  # (B, T, n_h, d_k)
            parts.append(heads.permute(0, 2, 1, 3))  # (B, n_h, T, d_k)
        averages, _ = self.attention(*parts, mask)  # (B, n_h, T, d_k)
        joined = averages.permute(0, 2, 1, 3).reshape(B, T, d)
        return self.W_proj(joined)  # (B, T, d)
        ### END SOLUTION


# %%
MyMultiHeadAttention = checks.MyMultiHeadAttention(MyMultiHeadAttention)

# %% [markdown]
# Now the block, with the normalization before each sublayer (*pre-norm*, [equation 12](eq-12)). Dropout falls on what a sublayer
# gives back, before it is added to the stream.


# %%
class MyBlock(torch.nn.Module):
    def __init__(self, config, *, attention=scaled_dot_product_attention):
        super().__init__()
        self.norm_1 = torch.nn.LayerNorm(config.d)
        self.attn = MyMultiHeadAttention(config.d, config.n_h, attention=attention)
        self.norm_2 = torch.nn.LayerNorm(config.d)
        self.ffn = FeedForward(config.d)
        self.dropout = torch.nn.Dropout(config.dropout)

    def forward(self, H, mask):
        """H: (B, T, d). Returns (B, T, d)."""
        # TODO: two sublayers, each of which reads a normalized copy of H and adds to H
        ### BEGIN SOLUTION
        read = self.attn(self.norm_1(H), mask)  # (B, T, d)
        H = H + self.dropout(read)
        thought = self.ffn(self.norm_2(H))  # (B, T, d)
        return H + self.dropout(thought)
        ### END SOLUTION


# %%
MyBlock = checks.MyBlock(MyBlock)

# %% [markdown]
# ## Where you stand

# %%
checks.tally()

# %% tags=["hide-output"]
print("Your predictions, and what came out\n")
predict.show()

# %% [markdown]
# **When you are done, in Colab:** *Runtime → Disconnect and delete runtime* gives the machine back. Save your work first if you want to keep it.
#
# All solutions in one notebook: [the solved lab](file:labs/solved/lab5_transformer.ipynb).
#
# Would you like to write more? [Four variants](page:labs/lab5_variants), each in 10 to 15 minutes: sines, rotations, the post-norm block, and a cache.
