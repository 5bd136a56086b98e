"""Holds right and wrong answers to ``sinusoidal_table(T, d)``."""

import math

import numpy as np
import torch

from answers.bank import right, wrong

# Right


@right
def slices_filled(T, d):
    table = torch.zeros(T, d)
    t = torch.arange(T)[:, None]
    omega = 10_000 ** (-torch.arange(0, d, 2) / d)
    table[:, 0::2] = torch.sin(t * omega)
    table[:, 1::2] = torch.cos(t * omega)
    return table


@right
def stacked(T, d):
    j = torch.arange(d // 2)
    angles = torch.outer(torch.arange(T).float(), 10_000.0 ** (-2 * j / d))
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(T, d)


@right
def exponential_of_a_logarithm(T, d):
    omega = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10_000.0) / d))
    table = torch.empty(T, d)
    table[:, ::2] = torch.sin(torch.arange(T).unsqueeze(1) * omega)
    table[:, 1::2] = torch.cos(torch.arange(T).unsqueeze(1) * omega)
    return table


@right
def loops(T, d):
    table = torch.zeros(T, d)
    for t in range(T):
        for j in range(d // 2):
            angle = t / 10_000 ** (2 * j / d)
            table[t, 2 * j] = math.sin(angle)
            table[t, 2 * j + 1] = math.cos(angle)
    return table


@right
def in_numpy(T, d):
    i = np.arange(d)
    angles = np.arange(T)[:, None] / np.power(10_000, 2 * (i // 2) / d)
    return torch.tensor(np.where(i % 2 == 0, np.sin(angles), np.cos(angles)), dtype=torch.float32)


@right
def cosine_as_a_shifted_sine(T, d):
    i = torch.arange(d)
    omega = 10_000 ** (-(i - i % 2) / d)
    return torch.sin(torch.arange(T)[:, None] * omega + (i % 2) * math.pi / 2)


@right
def steps_of_a_rotation(T, d):
    step = torch.polar(torch.ones(d // 2), 10_000.0 ** (-torch.arange(0, d, 2) / d))
    powers = step[None] ** torch.arange(T)[:, None]
    return torch.stack([powers.imag, powers.real], -1).flatten(1)


# The frequencies


def filled(T, d, omega, t=None):
    """Make the table of these frequencies, (d / 2,)."""
    t = torch.arange(T) if t is None else t
    table = torch.zeros(T, d)
    table[:, 0::2] = torch.sin(t[:, None] * omega)
    table[:, 1::2] = torch.cos(t[:, None] * omega)
    return table


def pairs(d):
    return torch.arange(d // 2)


@wrong("half the exponent")
def factor_2_forgotten(T, d):
    return filled(T, d, 10_000 ** (-pairs(d) / d))


@wrong("twice the exponent")
def even_coordinates_doubled(T, d):
    return filled(T, d, 10_000 ** (-2 * torch.arange(0, d, 2) / d))


@wrong("twice the exponent")
def loop_over_even_coordinates(T, d):
    table = torch.zeros(T, d)
    for t in range(T):
        for i in range(0, d, 2):
            table[t, i] = math.sin(t / 10_000 ** (2 * i / d))
            table[t, i + 1] = math.cos(t / 10_000 ** (2 * i / d))
    return table


@wrong("a frequency for each coordinate")
def cosine_with_the_next_frequency(T, d):
    table = torch.zeros(T, d)
    for t in range(T):
        for i in range(d):
            angle = t / 10_000 ** (i / d)
            table[t, i] = math.sin(angle) if i % 2 == 0 else math.cos(angle)
    return table


@wrong("a frequency for each coordinate")
def coordinate_taken_for_the_pair(T, d):
    i = torch.arange(d)
    angles = torch.arange(T)[:, None] * 10_000 ** (-2 * i / d)
    return torch.where(i % 2 == 0, angles.sin(), angles.cos())


@wrong("frequencies grow")
def minus_forgotten(T, d):
    return filled(T, d, 10_000 ** (2 * pairs(d) / d))


@wrong("frequencies grow")
def multiplied_by_the_divisor(T, d):
    divisor = torch.exp(torch.arange(0, d, 2) * math.log(10_000.0) / d)
    return filled(T, d, divisor)


@wrong("another base")
def base_of_1000(T, d):
    return filled(T, d, 1000 ** (-2 * pairs(d) / d))


@wrong("another base")
def decimal_logarithm(T, d):
    return filled(T, d, 10.0 ** (-2 * pairs(d) / d))


@wrong("one frequency for all")
def whole_numbers_divided(T, d):
    return filled(T, d, 10_000.0 ** -(2 * pairs(d) // d))


@wrong("exponent rounded")
def whole_numbers_divided_after_the_sign(T, d):
    return filled(T, d, 10_000.0 ** (-2 * pairs(d) // d))


@wrong("one frequency for all")
def angle_is_the_position(T, d):
    return filled(T, d, torch.ones(d // 2))


@wrong("last exponent is 1")
def evenly_from_0_to_1(T, d):
    return filled(T, d, 10_000 ** -torch.linspace(0, 1, d // 2))


@wrong("pairs counted from 1")
def first_pair_is_1(T, d):
    return filled(T, d, 10_000 ** (-2 * torch.arange(1, d // 2 + 1) / d))


@wrong("not in radians")
def whole_turns(T, d):
    return filled(T, d, 2 * math.pi * 10_000 ** (-2 * pairs(d) / d))


@wrong("not in radians")
def degrees(T, d):
    return filled(T, d, torch.deg2rad(10_000 ** (-2 * pairs(d) / d)))


@wrong("divided by T")
def length_for_the_width(T, d):
    return filled(T, d, 10_000 ** (-2 * pairs(d) / T))


# Positions


@wrong("off by one")
def positions_from_1(T, d):
    return filled(T, d, 10_000 ** (-2 * pairs(d) / d), torch.arange(1, T + 1))


@wrong("counted backwards")
def last_position_first(T, d):
    return slices_filled(T, d).flip(0)


@wrong("positions as shares")
def positions_between_0_and_1(T, d):
    return filled(T, d, 10_000 ** (-2 * pairs(d) / d), torch.linspace(0, 1, T))


@wrong("positions as shares")
def position_over_length(T, d):
    return filled(T, d, 10_000 ** (-2 * pairs(d) / d), torch.arange(T) / T)


# The order of the coordinates


@wrong("halves")
def sines_then_cosines(T, d):
    angles = torch.arange(T)[:, None] * 10_000 ** (-2 * pairs(d) / d)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


@wrong("halves")
def stacked_along_another_axis(T, d):
    angles = torch.arange(T)[:, None] * 10_000 ** (-2 * pairs(d) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=1).reshape(T, d)


@wrong("sines and cosines exchanged")
def cosines_first(T, d):
    angles = torch.arange(T)[:, None] * 10_000 ** (-2 * pairs(d) / d)
    return torch.stack([angles.cos(), angles.sin()], dim=2).reshape(T, d)


@wrong("sines alone")
def only_sines(T, d):
    omega = 10_000 ** (-2 * pairs(d) / d)
    return torch.sin(torch.arange(T)[:, None] * omega.repeat_interleave(2))


@wrong("cosines alone")
def only_cosines(T, d):
    omega = 10_000 ** (-2 * pairs(d) / d)
    return torch.cos(torch.arange(T)[:, None] * omega.repeat_interleave(2))


@wrong("angles")
def no_sine(T, d):
    omega = 10_000 ** (-2 * pairs(d) / d)
    return torch.arange(T)[:, None] * omega.repeat_interleave(2)


@wrong("half the exponent")
def two_mistakes(T, d):
    # Told of the first; after that is mended, of the second.
    omega = 10_000 ** (-pairs(d) / d)
    angles = torch.arange(1, T + 1)[:, None] * omega
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


# Faults that any answer can have


@wrong("wrong shape")
def rows_and_columns_exchanged(T, d):
    return slices_filled(T, d).T


@wrong("wrong shape")
def sines_for_half_the_width(T, d):
    return torch.sin(torch.arange(T)[:, None] * 10_000 ** (-2 * pairs(d) / d))


@wrong("wrong shape")
def axis_for_the_batch(T, d):
    return slices_filled(T, d)[None]


@wrong("wrong dtype")
def doubles_of_numpy(T, d):
    i = np.arange(d)
    angles = np.arange(T)[:, None] / np.power(10_000, 2 * (i // 2) / d)
    return torch.from_numpy(np.where(i % 2 == 0, np.sin(angles), np.cos(angles)))


@wrong("wrong dtype")
def whole_numbers(T, d):
    table = torch.zeros(T, d, dtype=torch.long)
    table[:, 0::2] = slices_filled(T, d)[:, 0::2].long()
    return table


@wrong("wrong type")
def list_of_rows(T, d):
    return slices_filled(T, d).tolist()


@wrong("wrong type")
def array(T, d):
    return slices_filled(T, d).numpy()


@wrong("not divided by d")
def width_forgotten(T, d):
    return filled(T, d, 10_000.0 ** (-2 * pairs(d)))


@wrong("not divided by d")
def power_of_whole_numbers(T, d):
    return filled(T, d, 10_000 ** (-2 * pairs(d)))


@wrong("raised an error")
def whole_number_to_a_negative_power(T, d):
    return filled(T, d, (2 * pairs(d) + 1) ** -1)


@wrong("raised an error")
def row_times_row(T, d):
    return torch.arange(T) * 10_000 ** (-2 * pairs(d) / d)


@wrong("returned nothing")
def return_forgotten(T, d):
    slices_filled(T, d)


@wrong("wrong values")
def small_frequencies_left_out(T, d):
    omega = 10_000 ** (-2 * pairs(d) / d)
    return filled(T, d, torch.where(omega < 0.05, 0, omega))


@wrong("only in some cases")
def no_more_than_64_positions(T, d):
    table = slices_filled(T, d)
    table[64:] = 0
    return table


@wrong("only in some cases")
def one_position_squeezed(T, d):
    return slices_filled(T, d).squeeze(0)
