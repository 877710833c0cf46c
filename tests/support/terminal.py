"""A program with a terminal of its own, whose keys reach all its jobs."""
import fcntl
import os
import pty
import struct
import termios
import time


class Terminal:
    """COMMAND in a terminal of COLUMNS, in FOLDER.  .pid is the program's.  Its keyboard is
    press()."""

    def __init__(self, command, columns=80, folder="."):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.chdir(folder)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
            os.execvp(command[0], command)

    def press(self, keys):
        os.write(self.fd, keys)

    def read_until(self, wanted, seconds=20):
        """What it shows until it shows WANTED."""
        text = b""
        deadline = time.monotonic() + seconds
        while wanted not in text:
            assert time.monotonic() < deadline, text
            try:
                text += os.read(self.fd, 4096)
            except OSError:
                raise AssertionError(f"ended before {wanted}: {text}") from None
        return text

    def end(self):
        """The exit code, once it has ended, and what it showed until then."""
        text = b""
        try:
            while True:
                part = os.read(self.fd, 4096)
                if not part:
                    break
                text += part
        except OSError:
            pass
        return self.exit_code(), text

    def exit_code(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self):
        """The terminal goes away."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
