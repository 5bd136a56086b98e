"""Holds right and wrong answers to ``MyBlock``, each a class with its own forward."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import MyMultiHeadAttention as layers
from answers.bank import right, wrong
from minigpt.attention import MultiHeadAttention, scaled_dot_product_attention
from minigpt.model import FeedForward


class Given(nn.Module):
    """What the student is handed: everything but the forward pass."""

    def __init__(self, config, *, attention=scaled_dot_product_attention):
        super().__init__()
        self.norm_1 = nn.LayerNorm(config.d)
        self.attn = MultiHeadAttention(config.d, config.n_h, attention=attention)
        self.norm_2 = nn.LayerNorm(config.d)
        self.ffn = FeedForward(config.d)
        self.dropout = nn.Dropout(config.dropout)


# Right


@right
class step_by_step(Given):
    def forward(self, H, mask):
        x = self.norm_1(H)
        x = self.attn(x, mask)
        H = H + self.dropout(x)
        x = self.norm_2(H)
        x = self.ffn(x)
        return H + self.dropout(x)


@right
class one_expression_after_another(Given):
    def forward(self, H, mask):
        middle = torch.add(H, self.dropout(self.attn(self.norm_1(H), mask=mask)))
        return self.dropout(self.ffn(self.norm_2(middle))) + middle


@right
class loop_over_sublayers(Given):
    def forward(self, H, mask):
        sublayers = (
            (self.norm_1, lambda x: self.attn(x, mask)),
            (self.norm_2, self.ffn),
        )
        for norm, sublayer in sublayers:
            H = H + self.dropout(sublayer(norm(H)))
        return H


@right
class helper_for_the_residual(Given):
    def forward(self, H, mask):
        H = self.residual(H, self.norm_1, self.attn, mask)
        return self.residual(H, self.norm_2, self.ffn)

    def residual(self, H, norm, sublayer, *arguments):
        return H + self.dropout(sublayer(norm(H), *arguments))


@right
class normalization_by_hand(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.normalize(H, self.norm_1), mask))
        normalized = F.layer_norm(
            H, (H.size(-1),), self.norm_2.weight, self.norm_2.bias, self.norm_2.eps
        )
        return H + self.dropout(self.ffn(normalized))

    def normalize(self, H, norm):
        centered = H - H.mean(dim=-1, keepdim=True)
        variance = centered.square().mean(dim=-1, keepdim=True)
        return centered * torch.rsqrt(variance + norm.eps) * norm.weight + norm.bias


@right
class changes_collected(Given):
    def forward(self, H, mask):
        changes = [self.dropout(self.attn(self.norm_1(H), mask))]
        changes.append(self.dropout(self.ffn(self.norm_2(H + changes[0]))))
        return torch.stack([H, *changes]).sum(dim=0)


# The normalization


@wrong("post-norm")
class norm_after_each_addition(Given):
    def forward(self, H, mask):
        H = self.norm_1(H + self.dropout(self.attn(H, mask)))
        return self.norm_2(H + self.dropout(self.ffn(H)))


@wrong("norm of the output")
class norm_of_each_output(Given):
    def forward(self, H, mask):
        # After the sublayer but inside the residual branch.
        H = H + self.dropout(self.norm_1(self.attn(H, mask)))
        return H + self.dropout(self.norm_2(self.ffn(H)))


@wrong("post-norm")
class add_then_norm(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(H, mask))
        H = self.norm_1(H)
        H = H + self.dropout(self.ffn(H))
        H = self.norm_2(H)
        return H


@wrong("no normalization")
class neither_norm(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(H, mask))
        return H + self.dropout(self.ffn(H))


@wrong("no normalization")
class first_norm_left_out(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(H, mask))
        x = self.norm_2(H)
        return H + self.dropout(self.ffn(x))


@wrong("no normalization")
class second_norm_left_out(Given):
    def forward(self, H, mask):
        x = self.norm_1(H)
        H = H + self.dropout(self.attn(x, mask))
        return H + self.dropout(self.ffn(H))


@wrong("one normalization twice")
class first_norm_twice(Given):
    # As long as both norms have their first parameters the two agree.
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        return H + self.dropout(self.ffn(self.norm_1(H)))


@wrong("one normalization twice")
class second_norm_twice(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_2(H), mask))
        return H + self.dropout(self.ffn(self.norm_2(H)))


# The residual stream


@wrong("no residual")
class neither_residual(Given):
    def forward(self, H, mask):
        H = self.dropout(self.attn(self.norm_1(H), mask))
        return self.dropout(self.ffn(self.norm_2(H)))


@wrong("no residual")
class first_residual_left_out(Given):
    def forward(self, H, mask):
        H = self.dropout(self.attn(self.norm_1(H), mask))
        return H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("no residual")
class second_residual_left_out(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        return self.dropout(self.ffn(self.norm_2(H)))


@wrong("residual from the normalized")
class both_from_the_normalized(Given):
    def forward(self, H, mask):
        H = self.norm_1(H)
        H = H + self.dropout(self.attn(H, mask))
        H = self.norm_2(H)
        return H + self.dropout(self.ffn(H))


@wrong("residual from the normalized")
class first_from_the_normalized(Given):
    def forward(self, H, mask):
        x = self.norm_1(H)
        x = x + self.dropout(self.attn(x, mask))
        return x + self.dropout(self.ffn(self.norm_2(x)))


@wrong("residual from the normalized")
class second_from_the_normalized(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        x = self.norm_2(H)
        return x + self.dropout(self.ffn(x))


@wrong("parallel sublayers")
class both_read_the_input(Given):
    def forward(self, H, mask):
        attended = self.dropout(self.attn(self.norm_1(H), mask))
        return H + attended + self.dropout(self.ffn(self.norm_2(H)))


@wrong("parallel sublayers")
class names_mixed_up(Given):
    def forward(self, H, mask):
        x = H + self.dropout(self.attn(self.norm_1(H), mask))
        y = self.dropout(self.ffn(self.norm_2(H)))  # H where x was meant
        return x + y


@wrong("order swapped")
class feed_forward_first(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.ffn(self.norm_1(H)))
        return H + self.dropout(self.attn(self.norm_2(H), mask))


@wrong("order swapped")
class feed_forward_first_with_its_own_norm(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.ffn(self.norm_2(H)))
        return H + self.dropout(self.attn(self.norm_1(H), mask))


@wrong("mask not passed")
class attention_without_mask(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H)))
        return H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("dropout on the stream")
class dropout_after_each_addition(Given):
    # In evaluation mode nothing of it can be seen.
    def forward(self, H, mask):
        H = self.dropout(H + self.attn(self.norm_1(H), mask))
        return self.dropout(H + self.ffn(self.norm_2(H)))


@wrong("dropout on the stream")
class dropout_at_the_end(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        H = H + self.ffn(self.norm_2(H))
        return self.dropout(H)


# Faults that any answer can have


@wrong("raised an error")
class pair_expected(Given):
    def forward(self, H, mask):
        x, _A = self.attn(self.norm_1(H), mask)  # a tensor, not a pair
        H = H + self.dropout(x)
        return H + self.dropout(self.ffn(self.norm_2(H), mask))


@wrong("returned nothing")
class return_forgotten(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        H = H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("wrong shape")
class last_position_only(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        H = H + self.dropout(self.ffn(self.norm_2(H)))
        return H[:, -1]


@wrong("gradient cut")
class without_gradients(Given):
    def forward(self, H, mask):
        with torch.no_grad():
            H = H + self.dropout(self.attn(self.norm_1(H), mask))
            return H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("gradient cut")
class attention_detached(Given):
    def forward(self, H, mask):
        # The stream carries a gradient on, but the attention layer gets none.
        H = H + self.dropout(self.attn(self.norm_1(H), mask).detach())
        return H + self.dropout(self.ffn(self.norm_2(H)))


@wrong("inputs changed")
class stream_added_in_place(Given):
    def forward(self, H, mask):
        H += self.dropout(self.attn(self.norm_1(H), mask))
        H += self.dropout(self.ffn(self.norm_2(H)))
        return H


@wrong("dropout left out")
class nothing_dropped(Given):
    def forward(self, H, mask):
        H = H + self.attn(self.norm_1(H), mask)
        return H + self.ffn(self.norm_2(H))


@wrong("dropout on one sublayer")
class second_output_not_dropped(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        return H + self.ffn(self.norm_2(H))


@wrong("dropout misplaced")
class input_of_the_sublayer_dropped(Given):
    def forward(self, H, mask):
        H = H + self.attn(self.dropout(self.norm_1(H)), mask)
        return H + self.ffn(self.dropout(self.norm_2(H)))


@wrong("dropout misplaced")
class dropped_twice(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        return H + self.dropout(self.dropout(self.ffn(self.norm_2(H))))


@wrong("normalizations exchanged")
class norms_exchanged(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_2(H), mask))
        return H + self.dropout(self.ffn(self.norm_1(H)))


@wrong("a sublayer left out")
class attention_alone(Given):
    def forward(self, H, mask):
        return H + self.dropout(self.attn(self.norm_1(H), mask))


@wrong("raised an error")
class attention_unpacked(Given):
    def forward(self, H, mask):
        V_bar, _ = self.attn(self.norm_1(H), mask)
        H = H + self.dropout(V_bar)
        return H + self.dropout(self.ffn(self.norm_2(H)))


class Unwritten(nn.Module):
    """A multi-head layer whose forward was never written, or wrongly."""

    def __init__(self, d, n_h, *, attention=scaled_dot_product_attention):
        super().__init__()
        self.W_Q = nn.Linear(d, d, bias=False)
        self.W_K = nn.Linear(d, d, bias=False)
        self.W_V = nn.Linear(d, d, bias=False)
        self.W_proj = nn.Linear(d, d)

    def forward(self, H, mask=None):
        raise NotImplementedError


@wrong("the layer inside")
class unwritten_layer_inside(Given):
    def __init__(self, config, *, attention=scaled_dot_product_attention):
        super().__init__(config, attention=attention)
        self.attn = Unwritten(config.d, config.n_h)

    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        return H + self.dropout(self.ffn(self.norm_2(H)))


class Whole(Given):
    """A right forward pass, to be spoiled."""

    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        return H + self.dropout(self.ffn(self.norm_2(H)))


@right
class dropout_only_in_training(Given):
    def forward(self, H, mask):
        H = H + self.dropped(self.attn(self.norm_1(H), mask))
        return H + self.dropped(self.ffn(self.norm_2(H)))

    def dropped(self, x):
        return self.dropout(x) if self.training else x


@right
class own_layer_inside(Whole):
    def __init__(self, config, *, attention=scaled_dot_product_attention):
        super().__init__(config, attention=attention)
        self.attn = layers.view_and_transpose(config.d, config.n_h, attention=attention)


@wrong("raise left in")
class raise_left_in(Given):
    def forward(self, H, mask):
        H = H + self.dropout(self.attn(self.norm_1(H), mask))
        raise NotImplementedError
        return H


@wrong("raise left in")
class raise_left_in_the_beginning(Whole):
    def __init__(self, config, *, attention=scaled_dot_product_attention):
        super().__init__(config, attention=attention)
        self.d = config.d
        raise NotImplementedError


@wrong("wrong type")
class no_module:
    def __init__(self, config, *, attention=scaled_dot_product_attention):
        self.d = config.d


@wrong("other weights")
class third_normalization(Whole):
    def __init__(self, config, *, attention=scaled_dot_product_attention):
        super().__init__(config, attention=attention)
        self.norm_3 = nn.LayerNorm(config.d)


@wrong("wrong values")
class own_mask_always(Whole):
    def forward(self, H, mask):
        T = H.size(1)
        return super().forward(H, torch.ones(T, T).tril().bool())


@wrong("only in some cases")
class no_mask_for_long_texts(Whole):
    def forward(self, H, mask):
        return super().forward(H, mask if H.size(1) < 100 else None)


@wrong("only in some cases")
class one_character_squeezed(Whole):
    def forward(self, H, mask):
        return super().forward(H, mask).squeeze(1)


@right
class dropout_as_a_function(Given):
    def forward(self, H, mask):
        def dropped(x):
            return F.dropout(x, self.dropout.p, self.training)

        H = H + dropped(self.attn(self.norm_1(H), mask))
        return H + dropped(self.ffn(self.norm_2(H)))
