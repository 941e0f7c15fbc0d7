"""How many examples Hypothesis tries: in CI (`--hypothesis-profile=ci`) all, else a third."""

from hypothesis import HealthCheck, settings

# A busy machine is no finding: no test of ours asserts on time.
settings.register_profile(
    "ci", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("suite", settings.get_profile("ci"), max_examples=20)


def examples_for(in_ci: int) -> int:
    """Return how many examples the profile tries of a test that has so many in CI."""
    return in_ci * settings().max_examples // settings.get_profile("ci").max_examples
