"""Weights that undo how an adaptive study chose its pairs."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.results import Array

PROBABILITY, ALTERNATIVES, ORDER = "probability", "alternatives", "submitted_at"


def with_weights(choices: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Weigh the answers of one criterion by the inverse of how likely they were asked.

    `inverse_weights` in the order of submission, as of a study with as many slots as
    were free at most.
    """
    if not {PROBABILITY, ALTERNATIVES, ORDER} <= set(choices.columns):
        return choices, False
    chance, free = (
        pd.to_numeric(choices[name], errors="coerce").to_numpy(float)
        for name in (PROBABILITY, ALTERNATIVES)
    )
    chosen = (chance > 0) & (free > 0)
    if not chosen.any():
        return choices, False
    order = np.argsort(choices[ORDER].astype(str).to_numpy(), kind="stable")
    slots = max(int(np.nanmax(free)), len(choices))
    chance, free = np.where(chosen, chance, 1.0), np.where(chosen, free, 1.0)
    found = inverse_weights(chance[order], free[order], slots)
    weight = np.empty(len(choices))
    weight[order] = found
    return choices.assign(weight=weight), True


def inverse_weights(
    per_slot: Sequence[float] | Array, available: Sequence[int] | Array, slots: int
) -> Array:
    r"""Return the weights that undo the choice, in the order in which it was made.

    The t-th of M choices weighs

    .. math:: 1 + \frac{N - M}{N - t} (u_t - 1), \quad u_t = 1 / (a_t q_t)

    with q the probability of the slot and a the number of slots available: inverse
    probabilities (Horvitz and Thompson 1952, Journal of the American Statistical
    Association 47) relative to a uniform choice, levelled for sampling without
    replacement (Farquhar, Gal and Rainforth 2021, On statistical bias in active
    learning, ICLR; the idea is Des Raj's of 1956). A pair whose slots are used up
    needs no probability: its answers are all known. Unbiased at a number of answers
    fixed beforehand, if what was available does not depend on the answers. The
    likelihood of abilities needs no weights: given the answers so far, choices do not
    depend on abilities (Rubin 1976, Biometrika 63). It is consistent, not unbiased.
    """
    relative = 1 / (np.asarray(available, float) * np.asarray(per_slot, float))
    left = slots - np.arange(1, len(relative) + 1)
    level = (slots - len(relative)) / np.maximum(left, 1)
    return np.asarray(1 + level * (relative - 1))
