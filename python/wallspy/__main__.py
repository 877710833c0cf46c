"""`python -m wallspy`: becomes the wallspy command that was installed with this package."""
import os
import signal
import sys
import sysconfig


def folders():
    """Where installers put commands, those first that belong to this very package."""
    site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [
        os.path.join(site, "bin"),  # pip install --target
        # PREFIX/lib/pythonX.Y/site-packages: environments, --user, --prefix, the system's Python
        os.path.normpath(os.path.join(site, "../../../bin")),
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", os.name + "_user"),
    ]


def find_command():
    """Returns the command's path; ends with a message where there is none."""
    places = list(dict.fromkeys(folders()))
    for place in places:
        path = os.path.join(place, "wallspy")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    sys.exit("python -m wallspy: the wallspy command is in none of {}. Install wallspy again."
             .format(", ".join(places)))


def main():
    path = find_command()
    # Python ignores these, and what is executed would inherit that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit("python -m wallspy: cannot start {}: {}.".format(path, error.strerror))


if __name__ == "__main__":
    main()
