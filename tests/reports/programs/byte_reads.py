"""Lines of a device are read byte by byte, each with a select() before."""
import os
import select

from account import Account

account = Account()


def device(writer):
    """A child that sends as fast as it is read."""
    while True:
        os.write(writer, b"$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9\n" * 40)


def read_line(fd):
    line = b""
    with account.at("read_line"):
        while not line.endswith(b"\n"):
            select.select([fd], [], [])
            line += os.read(fd, 1)
    return line


def position(line):
    return [float(field) for field in line.split(b",") if field[:1].isdigit()]


reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(reader)
    device(writer)
account.ready()
while account.goes_on():
    position(read_line(reader))
os.kill(child, 9)
os.waitpid(child, 0)
account.tell()
