"""Holds right and wrong answers to ``PostNormBlock``, each a class with its own forward."""

import torch
import torch.nn.functional as F
from torch import nn

from answers.bank import right, wrong
from minigpt.attention import MultiHeadAttention, scaled_dot_product_attention
from minigpt.model import FeedForward


class Given(nn.Module):
    """What the student is handed: everything but the forward pass."""

    def __init__(self, config, *, attention=scaled_dot_product_attention, rotate=None):
        super().__init__()
        self.attn = MultiHeadAttention(config.d, config.n_h, attention=attention, rotate=rotate)
        self.norm_1 = nn.LayerNorm(config.d)
        self.ffn = FeedForward(config.d)
        self.norm_2 = nn.LayerNorm(config.d)
        self.dropout = nn.Dropout(config.dropout)


# Right


@right
class two_lines(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@right
class step_by_step(Given):
    def forward(self, H, mask, cache=None):
        x = self.attn(H, mask, cache=cache)
        x = self.dropout(x)
        x = x + H
        H = self.norm_1(x)
        x = self.ffn(H)
        x = self.dropout(x)
        x = x + H
        return self.norm_2(x)


@right
class loop_over_sublayers(Given):
    def forward(self, H, mask, cache=None):
        for norm, sublayer in (
            (self.norm_1, lambda x: self.attn(x, mask, cache)),
            (self.norm_2, self.ffn),
        ):
            H = norm(torch.add(H, self.dropout(sublayer(H))))
        return H


@right
class helper_for_the_sum(Given):
    def forward(self, H, mask, cache=None):
        H = self.after(self.norm_1, H, self.attn(H, mask, cache))
        return self.after(self.norm_2, H, self.ffn(H))

    def after(self, norm, H, written):
        return norm(H + self.dropout(written))


@right
class normalization_by_hand(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(H, mask, cache))
        H = F.layer_norm(H, H.shape[-1:], self.norm_1.weight, self.norm_1.bias, self.norm_1.eps)
        return self.norm_2(H + self.dropout(self.ffn(H)))


@right
class dropout_as_a_function(Given):
    def forward(self, H, mask, cache=None):
        def dropped(x):
            return F.dropout(x, self.dropout.p, self.training)

        H = self.norm_1(H + dropped(self.attn(H, mask, cache)))
        return self.norm_2(H + dropped(self.ffn(H)))


# The normalization


@wrong("pre-norm")
class each_reads_a_normalized_copy(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(self.norm_1(H), mask, cache))
        return H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("pre-norm")
class second_sublayer_pre_norm(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("normalized before and after")
class norms_around_everything(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(self.norm_1(H), mask, cache)))
        return self.norm_2(H + self.dropout(self.ffn(self.norm_2(H))))


@wrong("norm of the output")
class norm_inside_the_branch(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.norm_1(self.dropout(self.attn(H, mask, cache)))
        return H + self.norm_2(self.dropout(self.ffn(H)))


@wrong("norm of the output")
class first_norm_inside_the_branch(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.norm_1(self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("a normalization left out")
class neither_norm(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(H, mask, cache))
        return H + self.dropout(self.ffn(H))


@wrong("a normalization left out")
class norm_at_the_end_alone(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(H, mask, cache))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("a normalization left out")
class both_norms_at_the_end(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(H, mask, cache))
        return self.norm_2(self.norm_1(H + self.dropout(self.ffn(H))))


@wrong("one normalization twice")
class one_norm_shared(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_1(H + self.dropout(self.ffn(H)))


@wrong("normalizations exchanged")
class norms_exchanged(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_2(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_1(H + self.dropout(self.ffn(H)))


@wrong("sum not kept normalized")
class sum_goes_on_as_it_was(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(H, mask, cache))
        return self.norm_2(H + self.dropout(self.ffn(self.norm_1(H))))


@wrong("sum not kept normalized")
class feed_forward_reads_the_unnormalized(Given):
    def forward(self, H, mask, cache=None):
        H = H + self.dropout(self.attn(H, mask, cache))
        return self.norm_2(self.norm_1(H) + self.dropout(self.ffn(H)))


# The residual stream


@wrong("no residual")
class neither_residual(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(self.dropout(self.ffn(H)))


@wrong("no residual")
class second_residual_left_out(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(self.dropout(self.ffn(H)))


@wrong("a sublayer left out")
class attention_alone(Given):
    def forward(self, H, mask, cache=None):
        return self.norm_1(H + self.dropout(self.attn(H, mask, cache)))


@wrong("a sublayer left out")
class feed_forward_alone(Given):
    def forward(self, H, mask, cache=None):
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("parallel sublayers")
class names_mixed_up(Given):
    def forward(self, H, mask, cache=None):
        x = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(x + self.dropout(self.ffn(H)))


@wrong("order swapped")
class feed_forward_first(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.ffn(H)))
        return self.norm_2(H + self.dropout(self.attn(H, mask, cache)))


@wrong("mask not passed")
class attention_without_mask(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, None, cache)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("cache not passed")
class attention_without_cache(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


# Dropout


@wrong("dropout left out")
class nothing_dropped(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.attn(H, mask, cache))
        return self.norm_2(H + self.ffn(H))


@wrong("dropout on one sublayer")
class first_output_alone_dropped(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(H + self.ffn(H))


@wrong("dropout on the stream")
class normalized_sum_dropped(Given):
    def forward(self, H, mask, cache=None):
        H = self.dropout(self.norm_1(H + self.attn(H, mask, cache)))
        return self.dropout(self.norm_2(H + self.ffn(H)))


@wrong("dropout on the stream")
class sum_dropped_before_its_norm(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(self.dropout(H + self.ffn(H)))


@wrong("dropout misplaced")
class dropped_twice(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.dropout(self.attn(H, mask, cache))))
        return self.norm_2(H + self.dropout(self.ffn(H)))


# Faults that any answer can have


class Whole(Given):
    """A right forward pass, to be spoiled."""

    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("raised an error")
class cache_not_an_argument(Given):
    def forward(self, H, mask):
        H = self.norm_1(H + self.dropout(self.attn(H, mask)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("raised an error")
class attention_unpacked(Given):
    def forward(self, H, mask, cache=None):
        V_bar, _ = self.attn(H, mask, cache)
        H = self.norm_1(H + self.dropout(V_bar))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("returned nothing")
class return_forgotten(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        H = self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("inputs changed")
class stream_added_in_place(Given):
    def forward(self, H, mask, cache=None):
        H += self.dropout(self.attn(H, mask, cache))
        H = self.norm_1(H)
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("gradient cut")
class attention_detached(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache).detach()))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("other weights")
class one_norm_made(Given):
    def __init__(self, config, **functions):
        super().__init__(config, **functions)
        del self.norm_2

    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_1(H + self.dropout(self.ffn(H)))


@wrong("raise left in")
class raise_left_in(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        raise NotImplementedError
        return H


@wrong("wrong values")
class feed_forward_twice(Given):
    def forward(self, H, mask, cache=None):
        H = self.norm_1(H + self.dropout(self.attn(H, mask, cache)))
        return self.norm_2(H + 2 * self.dropout(self.ffn(H)))


@wrong("only in some cases")
class no_mask_for_long_texts(Whole):
    def forward(self, H, mask, cache=None):
        return super().forward(H, mask if H.size(1) < 100 else None, cache)
