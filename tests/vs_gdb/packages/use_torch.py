"""torch: autograd with Python in between, an optimizer, sorting, convolution."""
import threading

import torch
from everywhere import forever

torch.set_num_threads(2)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(context, gradient):
        return gradient * 2 + 0 * context.saved_tensors[0]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(Doubled.apply(layer(x)))
        return x


class Trainer(threading.local):
    def __init__(self):
        self.model = Model()
        self.optimizer = torch.optim.Adam(self.model.parameters())


TRAINER = Trainer()


def trains():
    TRAINER.optimizer.zero_grad()
    loss = TRAINER.model(torch.randn(32, 64)).pow(2).mean()
    loss.register_hook(lambda gradient: gradient * 1.5)
    loss.backward()
    TRAINER.optimizer.step()


def sorts():
    return torch.sort(torch.randn(20000)), torch.unique(torch.randint(0, 500, (20000,)))


def convolves():
    return torch.nn.functional.conv2d(torch.randn(1, 8, 32, 32), torch.randn(8, 8, 3, 3))


forever(trains, sorts, convolves)
