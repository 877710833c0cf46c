"""Trains a model of torch's: its gradients are computed by autograd, and by OpenMP's threads."""
import torch
from steady import Steady

model = torch.nn.Sequential(*[torch.nn.Linear(400, 400) for _ in range(6)])
batch = torch.ones(256, 400)


def take_step():
    model(batch).square().sum().backward()


run = Steady()
take_step()
run.ready()
while run.goes_on():
    take_step()
