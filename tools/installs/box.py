"""Fresh systems in folders: made by debootstrap, entered by chroot in namespaces of their own.

What is mounted and started there ends with the command that did it, also where that is killed.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENTER = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
USER_IDS = {"root": "0:0", "me": "1000:1000"}
HOMES = {"root": "/root", "me": "/home/me"}
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
# What a job's machine has: its Python, and what makes virtual environments.
JOB_PACKAGES = "python3,python3-venv"
# Ubuntu has python3-venv in universe; debootstrap leaves out what a mirror does not have.
COMPONENTS = "main,universe"
APT_LEFTOVERS = ("var/cache/apt", "var/lib/apt/lists")
MEGABYTE = 1e6
# A killed process may still be on its way out of the folder.
REMOVALS, REMOVAL_PAUSE_S = 10, 0.3


class Refused(Exception):
    """This machine forbids what is needed: one line."""


class Failed(Exception):
    """A command failed: what it was and the end of what it printed."""


def check_rights():
    """Raises Refused where chroots and namespaces are not available."""
    if os.geteuid() != 0:
        raise Refused("debootstrap and chroot need root: run it with sudo")
    tried = subprocess.run([*ENTER, "true"], stderr=subprocess.PIPE, text=True, check=False)
    if tried.returncode:
        raise Refused(f"namespaces are refused here ({tried.stderr.strip()}): run it on a machine "
                      "or in a container that may mount")


def apt_mirror():
    """The mirror that this machine's apt uses for Debian; raises Refused if there is none."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)",
             "Created-By: Packages", "Label: Debian"]
    with contextlib.suppress(OSError):
        found = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=False).stdout
        if found:
            return found.split()[0]
    raise Refused("apt knows no mirror of Debian here: run apt-get update, or name one with -s")


def call(command, what):
    """Runs COMMAND; returns what it printed, or raises Failed with the end of it."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-30:])
        raise Failed(f"{what} ended with {done.returncode}:\n{tail}")
    return done.stdout


class Box:
    """One system in the folder ROOT.  "me" is its plain user, /opt/demo the program to attach to,
    /opt/dist what is to be installed."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def run(self, script, who="root"):
        """Runs SCRIPT (sh -e) there, as WHO, at home.  Returns what it printed; raises Failed."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME": HOMES[who], "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"}
        environment.update((name, os.environ[name]) for name in PROXIES if name in os.environ)
        enter = ('mount -t proc proc "$0/proc" && '
                 f'exec chroot --userspec={USER_IDS[who]} --groups= "$0" "$@"')
        return call([*ENTER, "sh", "-c", enter, self.root, "env", "-i",
                     *(f"{name}={value}" for name, value in environment.items()),
                     "sh", "-e", "-c", f"cd\n{script}"], script.strip().splitlines()[0])

    def disk_mb(self):
        """Megabytes on disk, without what apt downloaded."""
        skipped = (f"--exclude={self.root / name}" for name in APT_LEFTOVERS)
        done = call(["du", "-s", "-B1", *skipped, self.root], "du")
        return int(done.split()[0]) / MEGABYTE

    def packages_mb(self):
        """Megabytes of packages that apt downloaded, without its lists."""
        packages = (self.root / "var/cache/apt/archives").glob("*.deb")
        return sum(path.stat().st_size for path in packages) / MEGABYTE

    def files(self):
        """The names of all files, without what apt, dpkg, logs and users keep."""
        kept = {"proc", "tmp", "home", "opt", "root", "var/cache", "var/lib/apt", "var/lib/dpkg",
                "var/log"}
        found = set()
        for folder, folders, names in os.walk(self.root):
            inside = os.path.relpath(folder, self.root)
            folders[:] = [name for name in folders
                          if os.path.normpath(f"{inside}/{name}") not in kept]
            found.update(os.path.normpath(f"{inside}/{name}") for name in folders + names)
        return found


class Boxes:
    """Makes boxes below a temporary folder, which is removed at the end.  CACHE: the folder where
    a system, once made, is kept as NAME.tar; None: it is made anew."""

    def __init__(self, cache=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wallspy-try-"))
        self.cache = pathlib.Path(cache) if cache else self.folder
        self.refused = {}  # why a system cannot be made, by its name

    def __enter__(self):
        # "me" must get through.
        self.folder.chmod(0o755)
        self.cache.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_):
        for _ in range(REMOVALS):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(REMOVAL_PAUSE_S)

    @contextlib.contextmanager
    def new_root(self, name):
        """An empty folder; it ends with the block."""
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder, prefix=f"{name}-"))
        root.chmod(0o755)
        try:
            yield root
        finally:
            shutil.rmtree(root, ignore_errors=True)

    @contextlib.contextmanager
    def fresh(self, suite, mirror):
        """A Box of SUITE that nobody has touched; it ends with the block.  Raises Failed."""
        base = self.base(suite, mirror)
        with self.new_root(suite) as root:
            call(["tar", "-xf", base, "-C", root, "--numeric-owner"], "tar")
            yield Box(root)

    def base(self, suite, mirror):
        """The tar of SUITE, made if need be, once.  Raises Failed."""
        path = self.cache / f"{suite}.tar"
        if suite in self.refused:
            raise Failed(self.refused[suite])
        if not path.exists():
            try:
                self.make_base(path, suite, mirror)
            except Failed as failure:
                self.refused[suite] = str(failure).splitlines()[0]
                raise
        return path

    def make_base(self, path, suite, mirror):
        with self.new_root(suite) as root, self.new_root(suite) as compiler_root:
            debootstrap(root, suite, mirror)
            build_demo(Box(root), compiler_root)
            unfinished = path.with_suffix(".new")
            call(["tar", "-cf", unfinished, "-C", root, "--numeric-owner", "."], "tar")
            unfinished.rename(path)


def debootstrap(root, suite, mirror):
    call([*ENTER, "--mount-proc", "debootstrap", "--variant=minbase", f"--include={JOB_PACKAGES}",
          f"--components={COMPONENTS}", suite, root, mirror], f"debootstrap {suite}")
    # Proxies and the like.
    settings = call(["apt-config", "dump", "Acquire"], "apt-config")
    (root / "etc/apt/apt.conf.d/90machine").write_text(settings)
    for name in ("etc/resolv.conf", "etc/hosts"):
        shutil.copyfile(f"/{name}", root / name)
    Box(root).run("useradd -m -u 1000 -U me && apt-get clean")


def build_demo(box, compiler_root):
    """Builds the demo for BOX with its own release's compiler, which only a copy of BOX gets, in
    COMPILER_ROOT."""
    call(["cp", "-aT", box.root, compiler_root], "cp")
    shutil.copytree(ROOT / "demo", compiler_root / "opt/demo")
    Box(compiler_root).run("""
        apt-get update -q
        apt-get install -y -q --no-install-recommends g++ libc6-dev
        cd /opt/demo
        gcc -D_GNU_SOURCE -g -O2 -fPIC -shared cudart.c -o libcudart-demo.so -lpthread
        g++ -std=gnu++17 -g -O2 -fPIC -shared api.cc ops.cc worker.cc -o libmge.so \
            -L. -lcudart-demo -Wl,-rpath,/opt/demo -lpthread""")
    shutil.copytree(compiler_root / "opt/demo", box.root / "opt/demo")
