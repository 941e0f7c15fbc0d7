"""Passwords kept by the product's own algorithm, at a thousandth of its cost."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class FastArgon2Hasher(Argon2PasswordHasher):
    """Whole servers of tests keep the real cost; what is hashed in a test's own process is not
    there to withstand anybody.
    """

    time_cost = 1
    memory_cost = 64
    parallelism = 1
