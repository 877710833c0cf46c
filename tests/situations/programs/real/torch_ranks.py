"""Three ranks of torch.distributed, by gloo.  The culprit: rank1 loads its batch for longer, and
the others wait for it in all_reduce().
"""
import os
import time

import torch
import torch.distributed
import torch.multiprocessing
from steady import Steady

SECONDS = 20


def load_batch(rank):
    end = time.process_time() + (0.09 if rank == 1 else 0.01)
    while time.process_time() < end:
        pass


def train(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="3", MASTER_ADDR="127.0.0.1", MASTER_PORT="8735")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    gradients = torch.ones(1000)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        load_batch(rank)
        torch.distributed.all_reduce(gradients)


def main():
    run = Steady()
    torch.multiprocessing.set_start_method("fork")
    ranks = [torch.multiprocessing.Process(target=train, args=(rank,)) for rank in range(3)]
    for rank in ranks:
        rank.start()
    time.sleep(3)
    run.ready()
    while run.goes_on():
        time.sleep(0.1)
    for rank in ranks:
        rank.kill()


if __name__ == "__main__":
    main()
