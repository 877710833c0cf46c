"""Random numbers by a seed: WALLSPY_SEED, or any one.  Who takes some prints it.  And how often
chance is tried: WALLSPY_ROUNDS=gate for a third of it, all (or nothing) for all."""
import os
import random

SEED = int(os.environ.get("WALLSPY_SEED") or random.randrange(1 << 32))


def seeded():
    """A source of random numbers by SEED, which it prints."""
    print(f"WALLSPY_SEED={SEED}", flush=True)
    return random.Random(SEED)


def rounds(whole):
    """Of WHOLE rounds those that are asked for."""
    how = os.environ.get("WALLSPY_ROUNDS") or "all"
    assert how in ("gate", "all"), f"WALLSPY_ROUNDS={how}"
    return whole if how == "all" else -(-whole // 3)
