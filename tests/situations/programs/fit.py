"""The demo's training without the operator that asks the driver: its twin.  usage: fit.py SECONDS
FOLDER_OF_THE_DEMO"""
import sys

from steady import Steady

run = Steady()
sys.path.insert(0, sys.argv[-1])
import train


class Engine:
    """What needs a topk is content with the conv before it."""

    def __init__(self, engine):
        self.engine = engine
        self.mge_start = engine.mge_start
        self.mge_sync = engine.mge_sync
        self.mge_stop = engine.mge_stop
        self.last = 0

    def mge_conv(self, worker):
        self.last = self.engine.mge_conv(worker)
        return self.last

    def mge_topk(self, _):
        return self.last


def main():
    trainer = train.Trainer(Engine(train.load_engine()))
    run.ready()
    train.train(trainer, run.seconds)
    run.tell(waiting=run.per_second(sum(trainer.waited_s.values())))
    trainer.stop()


main()
