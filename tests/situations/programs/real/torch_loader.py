"""Trains by torch, with a DataLoader of two processes.  The culprit: __getitem__() of the data set,
which computes in these, and main waits for batches.
"""
import time

import torch
from steady import Steady
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, number):
        total = sum(item * item % 7 for item in range(200_000))
        return torch.full((100,), float(total % 10))


def next_batch(batches):
    return next(batches)


def main():
    run = Steady()
    batches = iter(DataLoader(Pictures(), batch_size=16, num_workers=2))
    model = torch.nn.Linear(100, 10)
    next_batch(batches)
    run.ready()
    waited_s = 0.0
    while run.goes_on():
        start = time.monotonic()
        batch = next_batch(batches)
        waited_s += time.monotonic() - start
        model(batch).sum().backward()
    run.tell(share=run.per_second(waited_s))


if __name__ == "__main__":
    main()
