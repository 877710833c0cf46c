"""The ways to install wallspy: the commands of docs/install.md, in a box, and what else must hold.

A way's install and after are called with (box, who, dist), where dist is what was copied to
/opt/dist.  install returns the program's path; after returns what is wrong, in words.
"""
import dataclasses
import os
import re
import stat
import subprocess
import typing

from installs import box as boxes

USERS = ("root", "me")
NEW = ("bookworm", "trixie")
APT_LINE = re.compile(r"\bapt(?:-get)? install((?: -\S+)*) ([a-z0-9][a-z0-9+. -]*)")


def static_folder(who, dist):
    return f"{boxes.HOMES[who]}/{dist.removesuffix('.tar.gz')}"


def install_static(box, who, dist):
    box.run(f"tar -xzf /opt/dist/{dist}", who)
    return f"{static_folder(who, dist)}/bin/wallspy"


def after_static(box, who, dist):
    return pages_missing(box, static_folder(who, dist))


def install_wheel(box, who, dist):
    folder = "/opt/wallspy" if who == "root" else f"{boxes.HOMES[who]}/wallspy"
    box.run(f"python3 -m venv {folder} && "
            f"{folder}/bin/pip install --no-index /opt/dist/{dist}", who)
    return f"{folder}/bin/wallspy"


def after_wheel(box, who, dist):
    """python -m, and the same wheel for another machine."""
    folder = "/opt/wallspy" if who == "root" else f"{boxes.HOMES[who]}/wallspy"
    said = box.run(f"{folder}/bin/python -m wallspy --version", who)
    wrong = [] if said == box.run(f"{folder}/bin/wallspy --version", who) else [
        f"python -m wallspy --version says {said.strip()}"]
    other = dist.replace("x86_64", "aarch64")
    refused = box.run(f"""
        cp /opt/dist/{dist} {other}
        {folder}/bin/pip install --no-index --force-reinstall ./{other} 2>&1 && echo INSTALLED
        true""", who)
    if "is not a supported wheel on this platform" not in refused or "Traceback" in refused:
        wrong.append(f"pip takes a wheel for aarch64: {refused.strip()}")
    return wrong


def install_deb(box, _who, dist):
    """Root installs it, whoever uses it."""
    box.files_before = box.files()
    box.run(f"apt-get update -q && apt-get install -y -q --no-install-recommends /opt/dist/{dist}")
    return "/usr/bin/wallspy"


def after_deb(box, who, _dist):
    """It gives no rights, has its pages, and leaves nothing behind."""
    program = box.root / "usr/bin/wallspy"
    wrong = []
    if program.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) or os.listxattr(program):
        wrong.append("the program has rights of its own")
    wrong += pages_missing(box, "/usr", ".gz", "vendor-completions")
    box.run("apt-get purge -y -q --autoremove wallspy")
    left = sorted(box.files() ^ box.files_before)
    if left:
        wrong.append(f"purge leaves or takes {' '.join(left[:10])}")
    if box.run("dpkg-query -W -f '${Status}' wallspy 2>/dev/null || true", who).strip():
        wrong.append("dpkg still knows wallspy after purge")
    return wrong


def local_folder(who):
    """Where WHO installs programs for all, or for oneself."""
    return "/usr/local" if who == "root" else f"{boxes.HOMES[who]}/.local"


def documented_packages():
    """What the pages tell users to install before they build; raises Failed if they do not."""
    pages = [boxes.ROOT / "docs/install.md", boxes.ROOT / "README.md"]
    text = "\n".join(page.read_text() for page in pages if page.exists()).replace("\\\n", " ")
    for options, packages in APT_LINE.findall(text):
        if " meson " in f" {packages} ":
            return " ".join(f"{options} {packages}".split())
    raise boxes.Failed("neither docs/install.md nor README.md has a line apt install … meson …")


def install_source(box, who, dist):
    prefix = "" if who == "root" else '--prefix="$HOME/.local"'
    box.run(f"apt-get update -q && apt-get install -y -q {documented_packages()}")
    box.run(f"""
        mkdir wallspy
        cd wallspy
        tar -xf /opt/dist/{dist}
        meson setup build -Doptimization=3 -Dtests=false {prefix}
        meson install -C build""", who)
    return f"{local_folder(who)}/bin/wallspy"


def after_source(box, who, _dist):
    return pages_missing(box, local_folder(who))


def pages_missing(box, prefix, suffix="", zsh_folder="site-functions"):
    """Which man pages and completions are not where man and the shells look."""
    wanted = [f"man/man1/{name}.1{suffix}" for name in
              ("wallspy", "wallspy-dump", "wallspy-standby", "wallspy-doctor",
               "wallspy-report", "wallspy-export", "wallspy-ctl")]
    wanted += ["bash-completion/completions/wallspy", f"zsh/{zsh_folder}/_wallspy",
               "fish/vendor_completions.d/wallspy.fish"]
    share = box.root / prefix.lstrip("/") / "share"
    return [f"{name} is missing" for name in wanted if not (share / name).is_file()]


@dataclasses.dataclass
class Way:
    pattern: str  # its file in dist/
    suites: tuple
    install: typing.Callable
    after: typing.Callable


WAYS = {
    "static": Way("wallspy-*-linux-x86_64.tar.gz", ("bullseye", *NEW), install_static,
                  after_static),
    "wheel": Way("wallspy-*.whl", ("bullseye", *NEW), install_wheel, after_wheel),
    "deb": Way("wallspy_*.deb", NEW, install_deb, after_deb),
    "source": Way("", NEW, install_source, after_source),
}


def lintian(deb):
    """What lintian finds in DEB that is an error or a warning, one a line."""
    command = ["lintian", "--allow-root", "--tag-display-limit", "0", deb]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:")]
