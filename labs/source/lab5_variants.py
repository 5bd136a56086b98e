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
#   # For the page of the book that the notebook becomes.
#   myst:
#     html_meta:
#       description: "After the lab, if you like: write sinusoidal and rotary positions, the post-norm block and
#         attention that keeps its keys and values."
# ---

# %% [markdown]
# # After the Lab: Four Variants to Write
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](colab)
#
# *Optional.* [The lab](page:labs/lab5_transformer) left four things to the course's own code: positions by sines, positions by rotation, the block of the first
# Transformer, and a cache that spares a model most of its work when it writes. Here you write them yourself, and see by a measurement what
# each is good for.
#
# **What you need.** The lab behind you: its words and its letters are used without another explanation. The four exercises do not depend on each other. Take
# those that you like, in any order.
#
# **Time.** 10 to 15 minutes each. Nothing is trained: the course's trained model is loaded, and every cell is done in seconds. No GPU is needed.
#
# **Where it runs.** In Colab, on [Binder](binder), or in Jupyter on your own machine: `make lab` in a clone of the repository opens the lab, and this notebook
# lies beside it. A stub, folded hints, a folded solution and a checkpoint make an exercise, as in the lab.

# %% [markdown]
# ## Set-up
#
# Run these two cells first, and again whenever you like. In Colab the first one fetches the course. On your own machine it finds the clone around this
# notebook.

# %% tags=["hide-input"] cellView="form"
# {set-up}

# %%
import time

import torch

from minigpt import checks, lab
from minigpt.artifacts import load_model
from minigpt.attention import MultiHeadAttention, causal_mask
from minigpt.attention import scaled_dot_product_attention
from minigpt.corpus import load_corpus
from minigpt.figures.scores_and_positions import position_similarity
from minigpt.inspection import model_leak_test
from minigpt.model import Block, Config, FeedForward, MiniGPT
from minigpt.sampling import sample

predict = lab.predict
corpus = load_corpus()
excerpt = corpus["valid"][None, :128]  # (1, T)
trained = load_model()
parameters = sum(p.numel() for p in trained.parameters())
print(f"Loaded: the trained model, {parameters:,} parameters")


# %% [markdown]
# ## Variant 1 · Sines and cosines
#
# *About 10 minutes. [Section 5](section-5).*
#
# The model of the lab learns a vector for each position. The first Transformer computed it, by [equation 9](eq-9). The coordinates of a vector come in pairs,
# $j = 0, \dots, d/2 - 1$, and each pair is the hand of a clock that turns by the angle $\omega_j$ from one position to the next:
#
# $$p_{t,\,2j} = \sin(\omega_j t), \qquad p_{t,\,2j+1} = \cos(\omega_j t), \qquad \omega_j = 10000^{-2j/d}.$$
#
# Write the table of these vectors for the positions $t = 0, \dots, T - 1$ and an even width `d`: one row for each position.

# %% [markdown]
# <details>
# <summary>Hint: all angles at once</summary>
#
# `torch.arange(0, d, 2)` holds the numbers $2j$, so the frequencies are one power of it. A column of positions, `(T, 1)`, times a row of frequencies,
# `(d / 2,)`, is a table with every position times every frequency.
#
# </details>
#
# <details>
# <summary>Hint: how do sines and cosines come to stand side by side?</summary>
#
# `torch.stack([a, b], dim=-1)` makes pairs of two tables, `(T, d / 2, 2)`, and `.flatten(1)` puts the pairs of a row one after the other. Or start from `torch.zeros(T, d)` and
# fill the columns `[:, 0::2]` and `[:, 1::2]`.
#
# </details>


# %%
def sinusoidal_table(T, d):
    """Returns (T, d): row t is the vector of position t, a sine first."""
    # TODO 1: the frequencies, (d / 2,)
    # TODO 2: the angles, (T, d / 2): every position times every frequency
    # TODO 3: the sine and the cosine of each angle, side by side
    ### BEGIN SOLUTION
    omega = 10_000.0 ** (-torch.arange(0, d, 2) / d)  # (d / 2,)
    angles = torch.arange(T)[:, None] * omega  # (T, d / 2)
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (T, d / 2, 2)
    return pairs.flatten(1)  # (T, d)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint**

# %%
sinusoidal_table = checks.sinusoidal_table(sinusoidal_table)

# %% [markdown]
# **What is special about them?** Attention compares vectors by dot products. Take two rows that are five positions apart, near the beginning of the table, and two
# others five apart near its end. Have the two pairs the same product? Predict for your table, and for the one that the trained model has learned: `"equal"`,
# `"similar"` or `"unrelated"`.

# %%
predict("Variant 1: products of rows 5 apart, sines", None)
predict("Variant 1: products of rows 5 apart, learned", None)

# %% tags=["hide-output"]
rows = {
    "sines and cosines": sinusoidal_table(128, 128),
    "learned": trained.pos_emb.weight.detach(),
}
similarity = {}
for name, table in rows.items():
    unit = torch.nn.functional.normalize(table)  # rows of length 1
    similarity[name] = unit @ unit.T  # (128, 128)

print("apart" + "".join(f"{name:>20}" for name in rows))
for offset in (1, 2, 5, 20, 60):
    line = f"{offset:5}"
    for products in similarity.values():
        found = products.diagonal(offset)
        line += f"{found.mean():12.3f} ± {found.std():.3f}"
    print(line)

spread = {
    name: (products.diagonal(5).max() - products.diagonal(5).min()).item()
    for name, products in similarity.items()
}
print()
for what, name in (("sines", "sines and cosines"), ("learned", "learned")):
    outcome = f"spread over a range of {spread[name]:.2f}"
    if spread[name] < 1e-4:
        outcome = "equal"
    predict.compare(f"Variant 1: products of rows 5 apart, {what}", outcome)

# %% tags=["hide-input", "hide-output"]
position_similarity(similarity)

# %% [markdown]
# With the sines a product depends on the offset alone: $\sin a \sin b + \cos a \cos b = \cos(a - b)$, and the sum over all pairs is
# $\sum_j \cos(\omega_j (t - s))$ for the positions $t$ and $s$. Nobody told the learned table about offsets. It has come near to such a rule by training, as the bands in the picture
# show, but the rule is not exact.

# %% [markdown]
# ## Variant 2 · Rotary positions
#
# *About 15 minutes. [Section 5](section-5), the box on rotary embeddings.*
#
# A rotary encoding (Su et al., 2021) adds nothing to the input. It turns the queries and the keys in every layer, just before they meet. Take the $d_k$ coordinates of a query in
# neighbouring pairs, (0, 1), (2, 3), and so on. At position $t$ pair $j$ is turned by the angle $a = \omega_j t$. The frequencies are those
# of [equation 9](eq-9), with $d_k$ in place of $d$. To turn a pair is to replace
#
# $$(x, y) \quad \text{by} \quad (x \cos a - y \sin a, \;\; x \sin a + y \cos a).$$
#
# Write it for `x` of shape `(..., T, d_k)`, whatever stands in place of the dots. The first of the `T` rows stands at the position `start`, the next at
# `start + 1`, and so on.

# %% [markdown]
# <details>
# <summary>Hint: the pairs</summary>
#
# `x[..., 0::2]` holds the first coordinate of every pair and `x[..., 1::2]` the second, `(..., T, d_k / 2)` each. The angles are a table `(T, d_k / 2)`, which fits both from the right.
# To put the two new coordinates back in their places: `torch.stack([...], dim=-1).flatten(-2)`.
#
# </details>


# %%
def rotate(x, start=0):
    """x: (..., T, d_k), its first row at position start. Keeps the shape."""
    # TODO 1: the angles, (T, d_k / 2): every position times every frequency
    # TODO 2: turn each pair of coordinates (2j, 2j + 1)
    # TODO 3: put both back where they were
    ### BEGIN SOLUTION
    T, d_k = x.shape[-2:]
    omega = 10_000.0 ** (-torch.arange(0, d_k, 2, device=x.device) / d_k)
    t = torch.arange(start, start + T, device=x.device)
    angles = t[:, None] * omega  # (T, d_k / 2)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2)
    turned = (first * cos - second * sin, first * sin + second * cos)
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, d_k)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint**

# %%
rotate = checks.rotate(rotate)

# %% [markdown]
# **Only the offset counts.** A text of 20 positions, with random queries and keys. Let it begin at position 0, and then at position 50. Every query and
# every key is now turned by other angles. What happens to the scores?

# %%
generator = torch.Generator().manual_seed(0)
Q, K = torch.randn(2, 20, 32, generator=generator)  # (T, d_k) each
scores = {s: rotate(Q, s) @ rotate(K, s).T for s in (0, 50)}  # (T, T)

moved = (rotate(Q, 50) - rotate(Q)).abs().max().item()
changed = (scores[50] - scores[0]).abs().max().item()
print(f"The queries have moved by up to {moved:.2f}.\n")
checks.confirm(
    "moved by 50 positions, a text has the same scores",
    changed < 1e-3,
    f"they differ by {changed:.1e}",
)
longer = (rotate(Q, 50).norm(dim=-1) - Q.norm(dim=-1)).abs().max().item()
checks.confirm(
    "turning a vector leaves its length", longer < 1e-3, f"up to {longer:.1e}"
)

# %% [markdown]
# **Into the model.** With `positions="rotary"` a model has no table of positions, and its blocks are handed a function that turns. The one here is built with yours.
# How many parameters has it? The model of the lab has 824,897.

# %%
predict("Variant 2: parameters with rotary positions", None)  # a number


# %% tags=["hide-output"]
def rotary_block(config, *, attention, **_):
    """Makes the course's block, with your function in place of its own."""
    return Block(config, attention=attention, rotate=rotate)


torch.manual_seed(0)
theirs = MiniGPT(Config(positions="rotary")).eval()
torch.manual_seed(0)  # the same weights once more
mine = MiniGPT(Config(positions="rotary"), block=rotary_block).eval()
with torch.no_grad():
    difference = (mine(excerpt) - theirs(excerpt)).abs().max().item()

predict.compare(
    "Variant 2: parameters with rotary positions",
    sum(p.numel() for p in mine.parameters()),
)
checks.confirm(
    "your rotation gives the logits of the course's own",
    difference < 1e-4,
    f"they differ by {difference:.1e}",
)
leak = model_leak_test(mine, excerpt, position=80)
checks.confirm(
    "a model with it does not read ahead",
    leak == 0,
    f"earlier logits moved by {leak}",
)

# %% [markdown]
# And does such a model know the order of what it reads? As in exercise 3 of the lab: one layer, and two texts that differ in the order of their
# first characters.

# %%
texts = [corpus.vocabulary.encode(text)[None] for text in ("listen!", "silent!")]
for positions in ("none", "rotary"):
    torch.manual_seed(0)
    single = MiniGPT(
        Config(n_l=1, positions=positions),
        block=rotary_block if positions == "rotary" else Block,
    ).eval()
    with torch.no_grad():
        one, other = (single(idx)[0, -1] for idx in texts)  # (V,) each
    print(
        f"positions {positions:7} the logits after ! differ by {(one - other).abs().max():.1e}"
    )

# %% [markdown]
# The difference is small, since the weights of an untrained model are small, but it is there. No parameter was spent on it.

# %% [markdown]
# ## Variant 3 · The post-norm block
#
# *About 10 minutes. [Section 6](section-6).*
#
# The lab's model is pre-norm: a sublayer reads a normalized copy of the stream. The first Transformer was *post-norm*. Its sublayers read the stream as it is, and the *sum* is
# normalized ([equation 13](eq-13)):
#
# $$H' = \mathrm{LN}(H + \mathrm{MHA}(H)), \qquad H^{\text{out}} = \mathrm{LN}(H' + \mathrm{FFN}(H')).$$
#
# The constructor is given. Write what happens to a batch of vectors `H`, of shape `(B, T, d)`. Dropout falls on what a sublayer gives back, before the addition, as in
# the challenge of the lab. `self.attn` takes the mask, and the cache too: hand it on as it comes.

# %% [markdown]
# <details>
# <summary>Hint: which of the two is kept?</summary>
#
# The result of the first normalization takes the place of `H`. The feed-forward layer reads it, and its output is added to it.
#
# </details>


# %%
class PostNormBlock(torch.nn.Module):
    def __init__(
        self, config, *, attention=scaled_dot_product_attention, rotate=None
    ):
        super().__init__()
        self.attn = MultiHeadAttention(
            config.d, config.n_h, attention=attention, rotate=rotate
        )
        self.norm_1 = torch.nn.LayerNorm(config.d)
        self.ffn = FeedForward(config.d)
        self.norm_2 = torch.nn.LayerNorm(config.d)
        self.dropout = torch.nn.Dropout(config.dropout)

    def forward(self, H, mask, cache=None):
        """H: (B, T, d). Returns (B, T, d)."""
        # TODO: two sublayers; the sum of each with what it read is normalized
        ### BEGIN SOLUTION
        read = self.attn(H, mask, cache)  # (B, T, d)
        H = self.norm_1(H + self.dropout(read))
        thought = self.ffn(H)  # (B, T, d)
        return self.norm_2(H + self.dropout(thought))
        ### END SOLUTION


# %% [markdown]
# **Checkpoint**

# %%
PostNormBlock = checks.PostNormBlock(PostNormBlock)

# %% [markdown]
# **What becomes of the input?** [Section 6](section-6) looks at gradients before training. Here is the same question from the other side. Random vectors enter a
# stack of untrained blocks, whose matrices are drawn so that they keep the sizes of vectors. How large is the stream behind the last block, as a
# root mean square, and how much of the input is still in it? The measure of the second is the cosine of the angle between the vector that entered at a position and the one
# that comes out there: 1 if nothing has changed, 0 if nothing is left.
#
# Predict the two for 32 blocks, pre-norm and post-norm.

# %%
predict("Variant 3: size after 32 blocks, pre-norm, post-norm", [None, None])
predict("Variant 3: cosine with the input, pre-norm, post-norm", [None, None])


# %% tags=["hide-output"]
@torch.no_grad()
def through(n_l, norm, block):
    """Size of the stream behind n_l blocks, and its cosine with the input."""
    torch.manual_seed(0)
    stack = MiniGPT(
        Config(d=64, n_l=n_l, norm=norm, dropout=0.0), block=block
    ).blocks
    for p in stack.parameters():
        if p.ndim == 2:
            torch.nn.init.normal_(p, std=p.size(1) ** -0.5)
    entered = H = torch.randn(1, 128, 64)  # (B, T, d)
    for layer in stack:
        H = layer(H, causal_mask(128))
    cosine = torch.cosine_similarity(entered, H, dim=-1).mean()
    return H.square().mean().sqrt().item(), cosine.item()


print("blocks   pre-norm: size  cosine   post-norm: size  cosine")
for n_l in (1, 2, 4, 8, 16, 32):
    pre, post = through(n_l, "pre", Block), through(n_l, "post", PostNormBlock)
    print(f"{n_l:6}{pre[0]:17.2f}{pre[1]:8.2f}{post[0]:18.2f}{post[1]:8.2f}")

print()
sizes, cosines = zip(pre, post)
predict.compare("Variant 3: size after 32 blocks, pre-norm, post-norm", sizes)
predict.compare("Variant 3: cosine with the input, pre-norm, post-norm", cosines)

# %% [markdown]
# In pre-norm nothing ever scales the stream down. It grows, and the input stays in the sum as one part among others: its share falls slowly. In post-norm each
# normalization brings the sum back to size 1, and with it shrinks everything that was in it before. What entered is made smaller again and again, by about the same factor each time, and soon
# it is lost. The gradient travels the same road in the other direction. Training can change that, since it changes the weights. A careful start (the *warm-up*) helps it do so.

# %% [markdown]
# ## Variant 4 · Writing with a cache
#
# *About 15 minutes. [Section 7](section-7), the box on what implementations add, and [section 8](section-8).*
#
# To write one more character, the sampler of the lab reads the whole text again. Most of that was computed before: under the causal mask no earlier position may read the new one, so
# in every layer their keys and values stay what they were. A *key-value cache* keeps them. Then a step has to compute one position only: its query meets the
# keys that were kept, and its own.
#
# Write this attention. Your function is given
#
# - `layer`, a multi-head layer of the course. Use its parts: `W_Q`, `W_K`, `W_V`, `W_proj`; `split`, which cuts `(B, T, d)` into heads, `(B, n_h, T, d_k)`; and
#   `attention`, a function like the one that you wrote in exercise 1 of the lab;
# - `H`, the vectors of the `T` *new* positions, `(B, T, d)`: at first those of the whole beginning of the text, later a single one;
# - `mask`, `(T, S)`: for each new position, which of all `S` positions so far it may read;
# - `cache`, a dict. It is empty on the first call. Afterwards `cache["K"]` and `cache["V"]` have to hold the keys and the values of all positions so far,
#   `(B, n_h, S, d_k)`, for the next call.

# %% [markdown]
# <details>
# <summary>Hint: the old and the new</summary>
#
# `if cache:` asks whether the dict holds anything. `torch.cat([old, new], dim=-2)` puts new positions behind the old ones: positions are the last axis but one. And
# `cache["K"] = ...` changes the dict that the caller holds, while `cache = ...` would only give another dict that name.
#
# </details>
#
# <details>
# <summary>Hint: the rest of the layer</summary>
#
# `layer.split(layer.W_Q(H))` makes the queries. `layer.attention(Q, K, V, mask)` returns two things, `V_bar` and `A`. Bring the heads behind the positions again and join
# them with `V_bar.transpose(1, 2).flatten(2)`, `(B, T, d)`; `layer.W_proj` mixes them.
#
# </details>


# %%
def attend_with_cache(layer, H, mask, cache):
    """H: (B, T, d), new positions alone. Fills the cache. Returns (B, T, d)."""
    # TODO 1: queries, keys and values of the new positions, cut into heads
    # TODO 2: if the cache holds earlier ones, put the new keys and values behind them
    # TODO 3: keep all keys and all values in the cache
    # TODO 4: attend under the mask, join the heads, mix them with W_proj
    ### BEGIN SOLUTION
    Q = layer.split(layer.W_Q(H))  # (B, n_h, T, d_k)
    K = layer.split(layer.W_K(H))
    V = layer.split(layer.W_V(H))
    if cache:
        K = torch.cat([cache["K"], K], dim=-2)  # (B, n_h, S, d_k)
        V = torch.cat([cache["V"], V], dim=-2)
    cache["K"], cache["V"] = K, V
    V_bar, _ = layer.attention(Q, K, V, mask)  # (B, n_h, T, d_k)
    return layer.W_proj(V_bar.transpose(1, 2).flatten(2))  # (B, T, d)
    ### END SOLUTION


# %% [markdown]
# **Checkpoint**

# %%
attend_with_cache = checks.attend_with_cache(attend_with_cache)


# %% [markdown]
# **Into the model.** Its layers now attend by your function, with the trained weights. Each layer has a cache of its own. The course's sampler does the rest: it makes the caches, lets
# the model read the beginning of the text, and then adds one character after the other.


# %%
class CachingLayer(MultiHeadAttention):
    def forward(self, H, mask=None, cache=None):
        if cache is None:  # the plain sampler keeps nothing
            return super().forward(H, mask)
        return attend_with_cache(self, H, mask, cache)


class CachingBlock(Block):
    def __init__(self, config, *, attention, rotate=None):
        super().__init__(config, attention=attention, rotate=rotate)
        self.attn = CachingLayer(config.d, config.n_h, attention=attention)


writer = load_model(block=CachingBlock)
computed = 0  # positions that went through the first layer


def count(layer, inputs, output):
    global computed
    computed += output.size(1)


writer.blocks[0].attn.W_K.register_forward_hook(count)


def write(start, length, cached):
    """The text, the seconds it took, and the positions that were computed."""
    global computed
    computed, generator = 0, torch.Generator().manual_seed(0)
    began = time.perf_counter()
    idx = sample(
        writer, start, length, temperature=0.8, generator=generator, cached=cached
    )
    return idx, time.perf_counter() - began, computed


# %% [markdown]
# **Predict.** The text begins with the 7 characters of `ROMEO:` and a new line, and 100 are to be added. How many positions does a layer compute in all, without a cache and with it?

# %%
predict("Variant 4: positions computed, without a cache", None)  # a number
predict("Variant 4: positions computed, with it", None)  # a number

# %% tags=["hide-output"]
beginning = corpus.vocabulary.encode("ROMEO:\n")  # (T,)
write(beginning, 5, cached=True)  # the first calls of all are slower
plain, plain_seconds, all_anew = write(beginning, 100, cached=False)
kept, kept_seconds, new_alone = write(beginning, 100, cached=True)

print(corpus.vocabulary.decode(kept), "\n")
predict.compare("Variant 4: positions computed, without a cache", all_anew)
predict.compare("Variant 4: positions computed, with it", new_alone)
print(f"\nseconds without a cache: {plain_seconds:.2f}")
print(f"seconds with it:         {kept_seconds:.2f}\n")
checks.confirm(
    "both write the same characters",
    torch.equal(plain, kept),
    f"{(plain == kept).sum()} of {len(plain)} agree",
)
checks.confirm(
    "with the cache each step computes one position",
    new_alone == len(beginning) + 99,
    f"{new_alone} for 7 + 100 characters",
)

# %% [markdown]
# Seconds fall by less than positions do: a pass for one position has as many steps, one after the other, as a pass for a hundred ([section 8](section-8)).
# On a longer text the gap is wider.
#
# **And when the text outgrows the window?** The model reads at most 128 characters. Let it begin with 128 and write 30 more. Each time the window moves on by one character. Is
# the cache of any use? Predict how many positions are computed.

# %%
predict("Variant 4: positions past the window", None)  # a number

# %% tags=["hide-output"]
_, seconds, positions = write(excerpt[0], 30, cached=True)
predict.compare("Variant 4: positions past the window", positions)
print(f"\nseconds for 30 characters: {seconds:.2f}")

# %% [markdown]
# Only the first of the 30 steps could have used the cache, and it had to fill it first. When the window moves on by one, every character in it moves to another position and gets another learned vector.
# With it all keys and all values change, in every layer. So the sampler drops the cache there and reads the whole window for each character. That is the price of absolute
# positions. With relative ones, such as those of variant 2, a key that was kept still stands at the right distance.

# %% [markdown]
# ## Where you stand

# %%
checks.tally_variants()

# %% tags=["hide-output"]
print("Your predictions, and what came out\n")
predict.show()

# %% [markdown]
# **When you are done, in Colab:** *Runtime → Disconnect and delete runtime* gives the machine back.
#
# What each of these variants does to a training was measured: [What Each Part Is Worth](page:book/reference/ablations).
#
# All solutions in one notebook: [the solved one](file:labs/solved/lab5_variants.ipynb).
