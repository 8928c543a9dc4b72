"""The probability that one of several Beta draws is the largest."""

import numpy as np
import pytest
import reference

from tellapart.bandits.thompson import probability_largest


def random_counts(arms, n, seed=0, most=25):
    rng = np.random.default_rng(seed)
    return rng.integers(0, most, (n, arms)), rng.integers(0, most, (n, arms))


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("power", [0.01, 0.4, 1.0, 2.5])
def test_equals_a_fine_grid(arms, power):
    wins, losses = random_counts(arms, 12)
    got, _ = probability_largest(wins, losses, np.full((12, 1), power))
    for i in range(12):
        np.testing.assert_allclose(got[i, 0], reference.largest((1.0 + wins[i]) ** power, (1.0 + losses[i]) ** power), atol=1e-7)


@pytest.mark.parametrize("arms", [2, 3, 4])
def test_sums_to_one_before_it_is_made_to(arms):
    wins, losses = random_counts(arms, 400)
    powers = np.tile(np.exp(np.linspace(-6, 6, 25)), (400, 1))
    probabilities, missed = probability_largest(wins, losses, powers)
    assert missed < 2e-7
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()


@pytest.mark.parametrize("power", [8.0, 25.0])
def test_equals_the_share_of_draws_when_the_densities_are_needles(power):
    """1,000,000 draws for each of 6 configurations of arms with close odds, z-tests; false alarm 1e-4 over both cases."""
    wins, losses = np.array([[2, 0], [1, 0], [0, 0], [1, 2], [3, 1], [0, 1]]), np.array([[2, 0], [1, 0], [1, 1], [1, 2], [1, 0], [1, 3]])
    got = probability_largest(wins, losses, np.full((6, 1), power))[0][:, 0, 0]
    rng, n = np.random.default_rng(1), 1_000_000
    for i in range(6):
        # logit of a Beta draw: the difference of the logs of two Gamma draws, which are normal once the shape is large
        a, b = (1.0 + wins[i]) ** power, (1.0 + losses[i]) ** power
        logs = [np.log(rng.gamma(shape, size=n) / shape) if shape < 1e6 else rng.normal(0, shape**-0.5, n) for shape in (*a, *b)]
        apart = power * np.log((1.0 + wins[i, 0]) * (1.0 + losses[i, 1]) / ((1.0 + losses[i, 0]) * (1.0 + wins[i, 1])))
        share = (apart + logs[0] - logs[2] > logs[1] - logs[3]).mean()
        assert abs(share - got[i]) < 4.6 * np.sqrt(max(got[i] * (1 - got[i]), 1e-6) / n)


def test_symmetries():
    wins, losses = random_counts(2, 300)
    powers = np.tile(np.exp(np.linspace(-4, 5, 10)), (300, 1))
    one = probability_largest(wins, losses, powers)[0][..., 0]
    np.testing.assert_allclose(one, probability_largest(wins[:, ::-1], losses[:, ::-1], powers)[0][..., 1], atol=1e-7)
    np.testing.assert_allclose(one, probability_largest(losses, wins, powers)[0][..., 1], atol=1e-7)
    same = np.repeat(wins[:, :1], 4, axis=1)
    np.testing.assert_allclose(probability_largest(same, same, powers)[0], 0.25, atol=1e-7)


@pytest.mark.parametrize("power", [30.0, 300.0])
def test_arms_of_equal_odds_are_told_apart_by_their_widths_alone(power):
    """Needles at one place: the widest is largest in half of the cases, the next in half of the rest."""
    got = probability_largest([[2, 5, 11]], [[1, 3, 7]], [[power]])[0][0, 0]
    np.testing.assert_allclose(got, [1 / 2, 1 / 4, 1 / 4], atol=1e-4)


@pytest.mark.parametrize("power", [30.0, 300.0, 1e6])
def test_an_arm_without_losses_keeps_its_width_however_large_lambda_is(power):
    """Its logit is then minus the log of an exponential variable, which is above its mode with probability 1 - 1/e."""
    got = probability_largest([[1, 3, 0]], [[0, 1, 3]], [[power]])[0][0, 0]
    np.testing.assert_allclose(got, [1 - np.exp(-1), np.exp(-1), 0], atol=1e-7)
