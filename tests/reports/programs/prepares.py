"""Healthy: a program that computes what it has to."""
from account import Account

account = Account()


def augment(image):
    with account.at("augment"):
        flipped = [row[::-1] for row in image]
        return [[(pixel * 3 + x) % 256 for x, pixel in enumerate(row)] for row in flipped]


def normalize(image):
    with account.at("normalize"):
        return [[pixel / 255 for pixel in row] for row in image]


picture = [[(x * y) % 256 for x in range(200)] for y in range(200)]
account.ready()
while account.goes_on():
    normalize(augment(picture))
account.tell()
