"""Random numbers by a seed: WALLSPY_SEED, or any one.  Who takes some prints it."""
import os
import random

SEED = int(os.environ.get("WALLSPY_SEED") or random.randrange(1 << 32))


def seeded():
    """A source of random numbers by SEED, which it prints."""
    print(f"WALLSPY_SEED={SEED}", flush=True)
    return random.Random(SEED)
