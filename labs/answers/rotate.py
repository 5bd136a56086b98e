"""Holds right and wrong answers to ``rotate(x, start=0)``."""

import math

import torch

from answers.bank import right, wrong
from answers.sinusoidal_table import filled


def angles_of(x, start=0):
    """Give the right angles, (T, d_k / 2)."""
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(0, d_k, 2, device=x.device) / d_k)
    return (start + torch.arange(T, device=x.device))[:, None] * omega


# Right


@right
def stacked(x, start=0):
    angles = angles_of(x, start)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = (even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos())
    return torch.stack(turned, dim=-1).flatten(-2)


@right
def slices_of_a_new_tensor(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    y = torch.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return y


@right
def complex_numbers(x, start=0):
    angles = angles_of(x, start)
    turn = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2)


@right
def repeated_cosines_and_a_quarter_turn(x, start=0):
    angles = angles_of(x, start).repeat_interleave(2, dim=-1)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).reshape(x.shape)
    return x * angles.cos() + quarter * angles.sin()


@right
def matrices(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    R = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    return torch.einsum("tjab,...tjb->...tja", R, x.unflatten(-1, (-1, 2))).flatten(-2)


@right
def pair_by_pair(x, start=0):
    d_k, columns = x.size(-1), []
    t = torch.arange(start, start + x.size(-2), device=x.device)
    for j in range(d_k // 2):
        a = t / 10_000 ** (2 * j / d_k)
        first, second = x[..., 2 * j], x[..., 2 * j + 1]
        columns.append(first * torch.cos(a) - second * torch.sin(a))
        columns.append(first * torch.sin(a) + second * torch.cos(a))
    return torch.stack(columns, dim=-1)


# Pairs


def turned(x, angles, sign=1):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), sign * angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@wrong("halves")
def each_with_one_half_a_row_on(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


@wrong("halves")
def rotate_half(x, start=0):
    # As in Llama's code.
    angles = torch.cat([angles_of(x, start)] * 2, dim=-1)
    half = x.size(-1) // 2
    quarter = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * angles.cos() + quarter * angles.sin()


@wrong("not put back")
def firsts_then_seconds(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)


@wrong("wrong shape")
def flatten_forgotten(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)


# The turn


@wrong("turned backwards")
def clockwise(x, start=0):
    return turned(x, angles_of(x, start), sign=-1)


@wrong("no rotation")
def two_plus_signs(x, start=0):
    angles = angles_of(x, start)
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos + odd * sin, even * sin + odd * cos], -1).flatten(-2)


@wrong("no rotation")
def two_minus_signs(x, start=0):
    angles = angles_of(x, start)
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin - odd * cos], -1).flatten(-2)


@wrong("overwritten too early")
def slices_of_a_copy_read_and_written(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    y = x.clone()
    even, odd = y[..., 0::2], y[..., 1::2]
    y[..., 0::2] = even * cos - odd * sin
    y[..., 1::2] = even * sin + odd * cos
    return y


@wrong("added")
def sinusoids_added(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(0, d_k, 2) / d_k)
    return x + filled(T, d_k, omega, torch.arange(start, start + T))


@wrong("multiplied")
def sinusoids_multiplied(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(0, d_k, 2) / d_k)
    return x * filled(T, d_k, omega, torch.arange(start, start + T))


@wrong("multiplied")
def cosines_alone(x, start=0):
    return x * angles_of(x, start).repeat_interleave(2, dim=-1).cos()


# Positions


@wrong("start ignored")
def always_from_0(x, start=0):
    return turned(x, angles_of(x))


@wrong("start ignored")
def every_row_at_start(x, start=0):
    T, d_k = x.shape[-2:]
    return turned(x, (start * 10_000 ** (-torch.arange(0, d_k, 2) / d_k)).expand(T, -1))


@wrong("start subtracted")
def start_taken_away(x, start=0):
    return turned(x, angles_of(x, -start))


@wrong("off by one")
def counted_from_1(x, start=0):
    return turned(x, angles_of(x, start + 1))


@wrong("counted backwards")
def last_row_first(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(0, d_k, 2) / d_k)
    return turned(x, torch.arange(start + T - 1, start - 1, -1)[:, None] * omega)


@wrong("position left out")
def angle_of_the_pair_alone(x, start=0):
    d_k = x.size(-1)
    return turned(x, 10_000 ** (-torch.arange(0, d_k, 2) / d_k))


@wrong("positions along another axis")
def positions_along_the_heads(x, start=0):
    d_k = x.size(-1)
    omega = 10_000 ** (-torch.arange(0, d_k, 2) / d_k)
    return turned(x, (start + torch.arange(x.size(-3)))[:, None, None] * omega)


@wrong("positions along another axis")
def positions_along_the_texts(x, start=0):
    omega = 10_000 ** (-torch.arange(0, x.size(-1), 2) / x.size(-1))
    shape = (-1, *[1] * (x.ndim - 1))
    return turned(x, (start + torch.arange(x.size(0))).view(shape) * omega)


# Frequencies


@wrong("half the exponent")
def factor_2_forgotten(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(d_k // 2) / d_k)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("twice the exponent")
def even_coordinates_doubled(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-2 * torch.arange(0, d_k, 2) / d_k)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("frequencies grow")
def minus_forgotten(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (torch.arange(0, d_k, 2) / d_k)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("exponent rounded")
def whole_numbers_divided(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000.0 ** (-torch.arange(0, d_k, 2) // d_k)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("one frequency for all")
def angle_is_the_position(x, start=0):
    T = x.size(-2)
    return turned(x, torch.arange(start, start + T)[:, None])


@wrong("another base")
def base_of_longer_texts(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 500_000.0 ** (-torch.arange(0, d_k, 2) / d_k)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("last exponent is 1")
def evenly_from_0_to_1(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** -torch.linspace(0, 1, d_k // 2)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("pairs counted from 1")
def first_pair_is_1(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(2, d_k + 2, 2) / d_k)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("not divided by d")
def width_forgotten(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000.0 ** -torch.arange(0, d_k, 2)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("divided by T")
def length_for_the_width(x, start=0):
    T, d_k = x.shape[-2:]
    omega = 10_000 ** (-torch.arange(0, d_k, 2) / T)
    return turned(x, torch.arange(start, start + T)[:, None] * omega)


@wrong("not in radians")
def whole_turns(x, start=0):
    return turned(x, 2 * math.pi * angles_of(x, start))


@wrong("start ignored")
def halves_and_start_ignored(x, start=0):
    # Told of the first; after that is mended, of the second.
    return each_with_one_half_a_row_on(x)


# Faults that any answer can have


@wrong("only four dimensions")
def shape_of_four_unpacked(x, start=0):
    B, n_h, T, d_k = x.shape
    return turned(x.reshape(B * n_h, T, d_k), angles_of(x, start)).view(B, n_h, T, d_k)


@wrong("only three dimensions")
def shape_of_three_unpacked(x, start=0):
    B, T, d_k = x.shape
    return turned(x.reshape(B, T, d_k), angles_of(x, start))


@wrong("only two dimensions")
def shape_of_two_unpacked(x, start=0):
    T, d_k = x.shape
    return turned(x.view(T, d_k), angles_of(x, start))


@wrong("inputs changed")
def in_place(x, start=0):
    angles = angles_of(x, start)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2].clone(), x[..., 1::2].clone()
    x[..., 0::2] = even * cos - odd * sin
    x[..., 1::2] = even * sin + odd * cos
    return x


@wrong("gradient cut")
def detached(x, start=0):
    return stacked(x.detach(), start)


@wrong("wrong dtype")
def angles_in_double(x, start=0):
    return turned(x, angles_of(x, start).double())


@wrong("raised an error")
def start_without_a_default(x, start):
    return turned(x, angles_of(x, start))


@wrong("raised an error")
def all_coordinates_at_once(x, start=0):
    return x * angles_of(x, start).cos()


@wrong("returned nothing")
def return_forgotten(x, start=0):
    turned(x, angles_of(x, start))


@wrong("wrong values")
def first_pairs_alone(x, start=0):
    y = turned(x, angles_of(x, start))
    return torch.cat([y[..., :4], x[..., 4:]], dim=-1)


@wrong("only in some cases")
def no_more_than_64_positions(x, start=0):
    return turned(x, angles_of(x, start).clamp(max=63))


@wrong("only in some cases")
def single_position_not_turned(x, start=0):
    return turned(x, angles_of(x, start)) if x.size(-2) > 1 else x
