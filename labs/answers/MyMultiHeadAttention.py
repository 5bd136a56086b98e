"""Holds right and wrong answers to ``MyMultiHeadAttention``, each a class with its own forward."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers.bank import right, wrong
from minigpt.attention import scaled_dot_product_attention


class Given(nn.Module):
    """What the student is handed: everything but the forward pass."""

    def __init__(self, d, n_h, *, attention=scaled_dot_product_attention):
        super().__init__()
        self.n_h = n_h
        self.attention = attention
        self.W_Q = nn.Linear(d, d, bias=False)
        self.W_K = nn.Linear(d, d, bias=False)
        self.W_V = nn.Linear(d, d, bias=False)
        self.W_proj = nn.Linear(d, d)


# Right


@right
class view_and_transpose(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        d_k = d // self.n_h
        Q = self.W_Q(H).view(B, T, self.n_h, d_k).transpose(1, 2)
        K = self.W_K(H).view(B, T, self.n_h, d_k).transpose(1, 2)
        V = self.W_V(H).view(B, T, self.n_h, d_k).transpose(1, 2)
        V_bar, _A = self.attention(Q, K, V, mask)
        out = V_bar.transpose(1, 2).contiguous().view(B, T, d)
        return self.W_proj(out)


@right
class chunks_stacked(Given):
    def forward(self, H, mask=None):
        heads = [
            torch.stack(W(H).chunk(self.n_h, dim=-1), dim=1) for W in (self.W_Q, self.W_K, self.W_V)
        ]
        V_bar = self.attention(*heads, mask)[0]
        return self.W_proj(torch.cat(V_bar.unbind(dim=1), dim=-1))


@right
class loop_over_heads(Given):
    def forward(self, H, mask=None):
        Q, K, V = self.W_Q(H), self.W_K(H), self.W_V(H)
        d_k = H.size(-1) // self.n_h
        outputs = []
        for h in range(self.n_h):
            part = slice(h * d_k, (h + 1) * d_k)
            V_bar, _ = self.attention(Q[..., part], K[..., part], V[..., part], mask)
            outputs.append(V_bar)
        return self.W_proj(torch.cat(outputs, dim=-1))


@right
class loop_over_texts_and_heads(Given):
    """Two-dimensional attention, text by text and head by head; slow."""

    def forward(self, H, mask=None):
        texts = []
        for text in H:
            Q, K, V = (W(text).split(text.size(-1) // self.n_h, dim=1) for W in self.readers())
            averages = [self.attention(Q[h], K[h], V[h], mask)[0] for h in range(self.n_h)]
            texts.append(self.W_proj(torch.hstack(averages)))
        return torch.stack(texts)

    def readers(self):
        return self.W_Q, self.W_K, self.W_V


@right
class heads_folded_into_the_batch(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape

        def fold(x):
            x = x.reshape(B, T, self.n_h, d // self.n_h).permute(0, 2, 1, 3)
            return x.reshape(B * self.n_h, T, d // self.n_h)

        V_bar, _ = self.attention(fold(self.W_Q(H)), fold(self.W_K(H)), fold(self.W_V(H)), mask)
        V_bar = V_bar.reshape(B, self.n_h, T, -1).permute(0, 2, 1, 3)
        return self.W_proj(V_bar.reshape(B, T, d))


@right
class rows_of_the_weights(Given):
    def forward(self, H, mask=None):
        def project(W):
            per_head = W.weight.view(self.n_h, -1, H.size(-1))
            return torch.einsum("btd,hkd->bhtk", H, per_head)

        Q, K, V = project(self.W_Q), project(self.W_K), project(self.W_V)
        V_bar, _ = self.attention(Q, K, V, mask=mask)
        return self.W_proj(torch.einsum("bhtk->bthk", V_bar).flatten(start_dim=2))


@right
class output_summed_over_heads(Given):
    def forward(self, H, mask=None):
        sizes = (self.n_h, H.size(-1) // self.n_h)
        Q = self.W_Q(H).unflatten(2, sizes).movedim(2, 1)
        K = self.W_K(H).unflatten(2, sizes).movedim(2, 1)
        V = self.W_V(H).unflatten(2, sizes).movedim(2, 1)
        V_bar, _ = self.attention(Q, K, V, mask)
        columns = self.W_proj.weight.unflatten(1, sizes)  # (d, n_h, d_k)
        return torch.einsum("bhtk,dhk->btd", V_bar, columns) + self.W_proj.bias


@right
class one_product_for_all_three(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        W = torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight])
        Q, K, V = F.linear(H, W).view(B, T, 3, self.n_h, d // self.n_h).permute(2, 0, 3, 1, 4)
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.swapaxes(1, 2).reshape(H.shape))


# The heads


@wrong("heads not split")
class one_big_head(Given):
    def forward(self, H, mask=None):
        V_bar, _ = self.attention(self.W_Q(H), self.W_K(H), self.W_V(H), mask)
        return self.W_proj(V_bar)


@wrong("heads not split")
class one_head_with_an_axis_of_its_own(Given):
    def forward(self, H, mask=None):
        Q, K, V = (W(H).unsqueeze(1) for W in (self.W_Q, self.W_K, self.W_V))
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.squeeze(1))


@wrong("split without transpose")
class viewed_as_heads_at_once(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        shape = (B, self.n_h, T, d // self.n_h)
        Q, K, V = self.W_Q(H).view(shape), self.W_K(H).view(shape), self.W_V(H).view(shape)
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("split without transpose")
class viewed_there_and_back(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        # Each head gets a stretch of the text, and its parts of a vector pose as positions.
        Q = self.W_Q(H).reshape(B, self.n_h, T, -1)
        K = self.W_K(H).reshape(B, self.n_h, T, -1)
        V = self.W_V(H).reshape(B, self.n_h, T, -1)
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.reshape(B, T, d))


@wrong("heads interleaved")
class width_before_heads(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape

        def split(x):
            return x.view(B, T, d // self.n_h, self.n_h).permute(0, 3, 1, 2)

        V_bar, _ = self.attention(split(self.W_Q(H)), split(self.W_K(H)), split(self.W_V(H)), mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("heads interleaved")
class width_before_heads_there_and_back(Given):
    def forward(self, H, mask=None):
        # Consistent in itself, but other columns make up a head than in the model.
        Q, K, V = (
            torch.stack([W(H)[..., h :: self.n_h] for h in range(self.n_h)], dim=1)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.permute(0, 2, 3, 1).flatten(2))


@wrong("heads interleaved")
class merged_with_the_width_first(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            W(H).view(B, T, self.n_h, -1).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.permute(0, 2, 3, 1).reshape(B, T, d))


@wrong("merged without transpose")
class reshaped_at_once(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            W(H).view(B, T, self.n_h, -1).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.reshape(B, T, d))


@wrong("merged without transpose")
class made_contiguous_and_viewed(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        d_k = d // self.n_h
        Q = self.W_Q(H).view(B, T, self.n_h, d_k).permute(0, 2, 1, 3)
        K = self.W_K(H).view(B, T, self.n_h, d_k).permute(0, 2, 1, 3)
        V = self.W_V(H).view(B, T, self.n_h, d_k).permute(0, 2, 1, 3)
        heads = self.attention(Q, K, V, mask)[0]
        return self.W_proj(heads.contiguous().view(B, T, self.n_h * d_k))


# The projections


@wrong("no output projection")
class merged_and_returned(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return V_bar.transpose(1, 2).flatten(2)


@wrong("no output projection")
class heads_glued_and_returned(Given):
    def forward(self, H, mask=None):
        parts = zip(
            *(W(H).chunk(self.n_h, dim=-1) for W in (self.W_Q, self.W_K, self.W_V)), strict=True
        )
        return torch.cat([self.attention(Q, K, V, mask)[0] for Q, K, V in parts], dim=-1)


@wrong("one projection twice")
class queries_as_keys(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q = self.W_Q(H).view(B, T, self.n_h, -1).transpose(1, 2)
        K = self.W_Q(H).view(B, T, self.n_h, -1).transpose(1, 2)
        V = self.W_V(H).view(B, T, self.n_h, -1).transpose(1, 2)
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("one projection twice")
class keys_as_values(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_K)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


@wrong("one projection twice")
class queries_for_all_three(Given):
    def forward(self, H, mask=None):
        x = self.W_Q(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
        V_bar, _ = self.attention(x, x, x, mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


# The attention


@wrong("mask not passed")
class three_arguments(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q = self.W_Q(H).view(B, T, self.n_h, -1).transpose(1, 2)
        K = self.W_K(H).view(B, T, self.n_h, -1).transpose(1, 2)
        V = self.W_V(H).view(B, T, self.n_h, -1).transpose(1, 2)
        V_bar, _ = self.attention(Q, K, V)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("mask not passed")
class mask_always_none(Given):
    def forward(self, H, mask=None):
        heads = []
        for parts in zip(
            *(W(H).chunk(self.n_h, dim=-1) for W in (self.W_Q, self.W_K, self.W_V)), strict=True
        ):
            heads.append(self.attention(*parts, mask=None)[0])
        return self.W_proj(torch.cat(heads, dim=-1))


@wrong("own attention not used")
class softmax_written_again(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        d_k = d // self.n_h
        Q, K, V = (
            W(H).view(B, T, self.n_h, d_k).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V)
        )
        scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        V_bar = scores.softmax(dim=-1) @ V
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("own attention not used")
class kernel_of_torch(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


@wrong("own attention not used")
class function_of_the_package(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = scaled_dot_product_attention(Q, K, V, mask)  # self. is missing
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


# Faults that any answer can have


@wrong("raised an error")
class pair_not_unpacked(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


@wrong("raised an error")
class viewed_without_contiguous(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            W(H).view(B, T, self.n_h, -1).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.contiguous().transpose(1, 2).view(B, T, d))


@wrong("returned nothing")
class return_forgotten(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        H = self.W_proj(V_bar.transpose(1, 2).flatten(2))


@wrong("wrong shape")
class heads_left_apart(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        out = self.W_proj(V_bar.transpose(1, 2).flatten(2))
        return out.unflatten(-1, (self.n_h, -1)).transpose(1, 2)


@wrong("gradient cut")
class input_detached(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H.detach()).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


@wrong("gradient cut")
class attention_without_gradients(Given):
    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        with torch.no_grad():
            V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))  # W_proj alone learns


@wrong("projections exchanged")
class keys_ask(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            W(H).view(B, T, self.n_h, -1).transpose(1, 2) for W in (self.W_K, self.W_Q, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("no projection of the values")
class bare_values(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            x.view(B, T, self.n_h, -1).transpose(1, 2) for x in (self.W_Q(H), self.W_K(H), H)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("own attention not used")
class asked_and_not_listened_to(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            W(H).view(B, T, self.n_h, -1).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V)
        )
        self.attention(Q, K, V, mask)
        V_bar = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


@wrong("only in some cases")
class another_layer_in_training(Given):
    def forward(self, H, mask=None):
        B, T, d = H.shape
        Q, K, V = (
            W(H).view(B, T, self.n_h, -1).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, None if self.training else mask)
        return self.W_proj(V_bar.transpose(1, 2).reshape(B, T, d))


class Whole(Given):
    """A right forward pass, to be spoiled."""

    def forward(self, H, mask=None):
        Q, K, V = (
            W(H).unflatten(-1, (self.n_h, -1)).transpose(1, 2)
            for W in (self.W_Q, self.W_K, self.W_V)
        )
        V_bar, _ = self.attention(Q, K, V, mask)
        return self.W_proj(V_bar.transpose(1, 2).flatten(2))


@wrong("raise left in")
class raise_left_in(Given):
    def forward(self, H, mask=None):
        Q = self.W_Q(H)
        raise NotImplementedError
        return Q


@wrong("wrong type")
class no_module:
    def __init__(self, d, n_h, *, attention=scaled_dot_product_attention):
        self.n_h = n_h


@wrong("other weights")
class one_projection_for_all_three(Whole):
    def __init__(self, d, n_h, *, attention=scaled_dot_product_attention):
        super().__init__(d, n_h, attention=attention)
        self.W_QKV = nn.Linear(d, 3 * d, bias=False)


@wrong("wrong values")
class own_mask_always(Whole):
    def forward(self, H, mask=None):
        T = H.size(1)
        return super().forward(H, torch.ones(T, T).tril().bool())


@wrong("raised an error")
class mask_always_expected(Whole):
    def forward(self, H, mask=None):
        return super().forward(H, mask.bool())


@wrong("only in some cases")
class no_mask_for_long_texts(Whole):
    def forward(self, H, mask=None):
        return super().forward(H, mask if H.size(1) < 100 else None)


@wrong("only in some cases")
class one_character_squeezed(Whole):
    def forward(self, H, mask=None):
        return super().forward(H, mask).squeeze(1)
