"""A pybind11 module: std::function, virtual functions overridden in Python, exceptions both ways,
no GIL."""
import bound
from everywhere import forever


class Square(bound.Shape):
    def area(self, scale):
        return sum(range(int(scale))) + super().area(scale)


def calls_back():
    return bound.apply(lambda v: sum(range(v % 30)), 200), bound.sort_by(list(range(100, 0, -1)),
                                                                         lambda v: v * 7 % 13)


def overrides():
    return bound.total([Square(), bound.Shape(), Square()])


def raises():
    try:
        bound.apply(lambda v: [][v], 3)
    except IndexError:
        pass
    try:
        bound.fails()
    except RuntimeError:
        pass


forever(calls_back, overrides, raises, lambda: bound.spins(100000))
