"""`wallspy doctor` in each set-up that could stop wallspy, made for real, or by a stand-in that
refuses the same calls: a seccomp filter, files of /proc that a mount namespace has instead.

usage: doctor.py WALLSPY DENY TARGET [unittest's arguments]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support.outcome import main, skip_part
from support.processes import status
from support.programs import AS_USER, IS_ROOT, UID, programs
from support.schema import keys, violations
from support.targets import CliTarget, Target, skip_if_said
from support.unharmed import assert_let_go
from support.wallspy import call

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "doctor-1.schema.json").read_text())
NO_PTRACE = ["{deny}", "ptrace=EPERM"]
WITHOUT_CAPABILITY = ["setpriv", "--bounding-set=-sys_ptrace"]
IN_KUBERNETES = ["env", "KUBERNETES_SERVICE_HOST=192.0.2.1"]
# As a shell's lines in a mount namespace of their own; $1 is a folder.
IN_DOCKER = """mkdir -p "$1/docker/containers/x"; : >"$1/docker/containers/x/hosts"; : >"$1/hosts"
mount --bind "$1/docker/containers/x/hosts" "$1/hosts" """
IN_PODMAN = "mount -t tmpfs none /run; : >/run/.containerenv"
ON_GVISOR = """echo 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016' >"$1/version"
mount --bind "$1/version" /proc/version"""
YAMA = """mount -t tmpfs none /proc/sys/kernel; mkdir /proc/sys/kernel/yama
echo {} >/proc/sys/kernel/yama/ptrace_scope; : >"$1/refused"; chmod 0 "$1/refused" """
# What Yama refuses is to attach, not to look.
REFUSE_ATTACHING = 'mount --bind "$1/refused" "/proc/$pid/syscall"'
SCRIPT = """trap 'echo "skip: no such mounts here"' EXIT
set -e; {setup}
set +e; trap - EXIT
{target} plain | {{
    read -r pid tid
    {refuse}
    {doctor} doctor {asked} </dev/null >"$1/text"; echo $?
    {doctor} doctor {asked} --json </dev/null >"$1/json"; echo $?
    cat >/dev/null
}}"""




def in_a_pod(profile):
    """The ways to SYS_PTRACE, where Pod Security is in the way."""
    return ("kubectl label namespace NAMESPACE --overwrite \\\n"
            "pod-security.kubernetes.io/enforce=privileged\n"
            "# Pod Security baseline and restricted refuse what follows",
            "kubectl debug -it POD --target=CONTAINER --image=IMAGE \\\n"
            f"--profile={profile} -- wallspy -p PID\n# IMAGE: has wallspy, and runs as root",
            "securityContext: {capabilities: {add: [SYS_PTRACE]}}")


class Report:
    """What doctor says, as text (lines joined) and as JSON, and its code."""

    def __init__(self, code, text, document):
        wide = [line for line in text.splitlines() if len(line) > 79]
        assert not wide, wide
        bad = list(violations(document, SCHEMA))
        assert not bad, bad
        self.code, self.text = code, " ".join(text.split())
        self.here, self.obstacle = document["here"], document["obstacle"]
        assert document["stopped"] == (code == 3) == (self.obstacle is not None), document
        self.name = self.obstacle and self.obstacle["name"]
        self.ways = [way["line"] for way in self.obstacle["ways"]] if self.obstacle else []

    def __str__(self):
        return f"{self.code} {self.text}"


def words(line):
    return " ".join(f"'{word.format(**programs)}'" for word in line)


def doctor(*args, by=()):
    """Doctor outside of any box."""
    command = [word.format(**programs) for word in by] + [programs["wallspy"], "doctor", *args]
    ran, ran_json = call(command), call([*command, "--json"])
    assert ran.code == ran_json.code and not ran.stderr, (ran, ran_json)
    return Report(ran.code, ran.stdout, json.loads(ran_json.stdout))


class Machine:
    """That of the tests."""
    container = ""

    def is_container(self):
        if self.container == "":
            self.container = doctor().here["container"]
        return self.container is not None


MACHINE = Machine()


class DoctorTest(unittest.TestCase):
    pid = None

    def expect(self, report, name, begin, *ways):
        """The obstacle NAME stops it; the text begins like BEGIN; these WAYS lead out."""
        self.assertEqual((report.code, report.name), (3, name), report)
        self.assertRegex(report.text, "^" + begin)
        if MACHINE.is_container():
            skip_part("ways", "a container names its own engine's, whatever the test makes of it")
            return report
        self.assertEqual(report.ways, [way.replace("PID", str(self.pid)) for way in ways], report)
        for way in report.ways:
            self.assertIn(" ".join(way.split()), report.text)
        return report


@unittest.skipUnless(IS_ROOT and shutil.which("unshare"), "mounts of one's own take root")
class Boxes(DoctorTest):
    """Doctor and a target in namespaces of their own."""

    def boxed(self, *, setup=":", refuse=":", target=(), by=(), asked='-p "$pid"',
              box=("unshare", "--mount")):
        """BY and TARGET: the words before doctor, and before the target."""
        script = SCRIPT.format(setup=setup, refuse=refuse, asked=asked,
                               target=words([*target, "{target}"]),
                               doctor=words([*by, "{wallspy}"]))
        if call([*box, "true"]).code != 0:
            self.skipTest("no namespaces here")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            with Target([*box, "sh", "-c", script, "sh", folder], gently=True) as t:
                skip_if_said(t.first)
                code = t.line(30)
                text = pathlib.Path(folder, "text").read_text(encoding="utf-8")
                self.assertEqual(code, t.first, text)
                document = json.loads(pathlib.Path(folder, "json").read_text(encoding="utf-8"))
                self.pid = document["pid"]
                return Report(int(code), text, document)

    def test_docker_with_a_filter(self):
        r = self.expect(self.boxed(setup=IN_DOCKER, by=NO_PTRACE), "seccomp",
                        r"ptrace is blocked here by a seccomp filter \(container\)\. missing "
                        r"permission to call ptrace\(2\) costs every stack",
                        "on the host: sudo wallspy -p N    # N: its number there",
                        "docker run --cap-add=SYS_PTRACE ...")
        self.assertEqual(r.here["container"], "docker")

    def test_docker_without_the_capability(self):
        r = self.expect(self.boxed(setup=IN_DOCKER, by=WITHOUT_CAPABILITY, target=AS_USER),
                        "other-user", rf"cannot attach to \d+: it belongs to nobody \(uid {UID}\), "
                        r"you are uid 0\. Needs CAP_SYS_PTRACE\.",
                        f"docker exec -u {UID} CONTAINER wallspy -p PID",
                        "docker exec -u 0 --privileged CONTAINER wallspy -p PID",
                        "docker run --cap-add=SYS_PTRACE ...")
        self.assertFalse(r.here["cap_sys_ptrace"])

    def test_pod_security_restricted(self):
        alone = [*AS_USER, "--no-new-privs", "--bounding-set=-all"]
        r = self.expect(self.boxed(by=[*IN_KUBERNETES, *alone, *NO_PTRACE], target=AS_USER),
                        "seccomp", r"ptrace is blocked here by a seccomp filter",
                        "securityContext: {seccompProfile: {type: RuntimeDefault}}\n"
                        "# Pod Security allows it",
                        *in_a_pod("sysadmin"))
        self.assertEqual((r.here["container"], r.here["pod_security"]),
                         ("kubernetes", "restricted"))
        self.assertIn("inside kubernetes, as Pod Security restricted asks", r.text)

    def test_pod_security_baseline(self):
        r = self.expect(self.boxed(by=[*IN_KUBERNETES, *WITHOUT_CAPABILITY], target=AS_USER),
                        "other-user", r"cannot attach to \d+: it belongs to nobody",
                        f"securityContext: {{runAsUser: {UID}}}    # Pod Security allows it",
                        *in_a_pod("general"))
        self.assertEqual(r.here["pod_security"], "baseline")

    def test_one_s_own_process_in_a_restricted_pod(self):
        alone = [*AS_USER, "--no-new-privs", "--bounding-set=-all"]
        r = self.boxed(by=[*IN_KUBERNETES, *alone], target=AS_USER)
        self.assertEqual((r.code, r.here["pod_security"]), (0, "restricted"), r)

    def yama(self, scope, refuse=REFUSE_ATTACHING):
        r = self.boxed(setup=YAMA.format(scope), refuse=refuse, target=AS_USER, by=AS_USER)
        self.assertEqual(r.here["ptrace_scope"], scope)
        return r

    def test_ptrace_scope_0(self):
        r = self.yama(0, refuse=":")
        self.assertEqual(r.code, 0, r)
        self.assertIn("Yama ptrace_scope 0: forbids nothing", r.text)

    def test_ptrace_scope_1_without_a_process(self):
        r = self.boxed(setup=YAMA.format(1), by=AS_USER, asked="")
        self.assertEqual(r.code, 0, r)
        self.assertTrue(r.text.startswith("wallspy may sample the programs that it starts, but "
                                          "for Yama (below) none that runs already. "), r)

    def test_ptrace_scope_1(self):
        self.expect(self.yama(1), "yama",
                    r"cannot attach to \d+ \(target\): Yama's ptrace_scope is 1 and it is not a "
                    r"child of wallspy\. missing CAP_SYS_PTRACE, or the process's permission",
                    f"wallspy standby -- {programs['target']} plain",
                    "import ctypes; ctypes.CDLL(None).prctl(0x59616d61,\n"
                    "ctypes.c_ulong(-1))    (this process, not its children)",
                    "sudo wallspy -p PID")

    def test_ptrace_scope_2(self):
        self.expect(self.yama(2), "yama", r"cannot attach to \d+ \(target\): Yama's ptrace_scope "
                    r"is 2: only root may attach\. missing CAP_SYS_PTRACE costs",
                    "sudo wallspy -p PID")

    def test_ptrace_scope_3(self):
        self.expect(self.yama(3), "yama", r"cannot attach to \d+ \(target\): Yama's ptrace_scope "
                    r"is 3: nobody may attach before the next boot\. missing a boot with a lower")

    def test_gvisor(self):
        by = ["setarch", "x86_64", "--uname-2.6"]
        said = r"this container runs on gVisor, which has no /proc/PID/syscall"
        self.expect(self.boxed(setup=ON_GVISOR, by=by), "gvisor", said,
                    "docker run --runtime=runc ...")
        r = self.expect(self.boxed(setup=ON_GVISOR, by=[*IN_KUBERNETES, *by]), "gvisor", said,
                        "leave out runtimeClassName: gvisor in the pod's spec")
        self.assertTrue(r.here["gvisor"])

    def test_rootless_podman(self):
        """Root of a namespace, in which it lacks what the process has."""
        box = [*AS_USER, "unshare", "--map-root-user", "--user", "--mount"]
        r = self.expect(self.boxed(box=box, setup=IN_PODMAN, by=WITHOUT_CAPABILITY),
                        "more-capabilities", r"cannot attach to \d+ \(target\): it has "
                        r"capabilities that wallspy lacks\. Needs CAP_SYS_PTRACE\.",
                        "podman exec -u 0 --privileged CONTAINER wallspy -p PID",
                        "podman run --cap-add=SYS_PTRACE ...")
        self.assertEqual((r.here["container"], r.here["user_namespace"]), ("podman", True))


class Processes(DoctorTest):
    def test_nothing_stops_it(self):
        with CliTarget("plain") as t:
            r = doctor("-p", str(t.pid), by=AS_USER)
            self.assertEqual(r.code, 0, r)
            self.assertTrue(r.text.startswith(
                f"Nothing stops wallspy from sampling {t.pid} (target). "), r)
            self.assertRegex(r.text, r"ptrace allowed memory process_vm_readv ")
            assert_let_go(t.pid)

    def test_a_seccomp_filter(self):
        with CliTarget("plain") as t:
            for error, said in (("EPERM", "Operation not permitted"),
                                ("ENOSYS", "Function not implemented")):
                r = doctor("-p", str(t.pid), by=[*AS_USER, "{deny}", f"ptrace={error}"])
                self.assertEqual((r.code, r.name, r.here["ptrace_error"]), (3, "seccomp", said), r)
                self.assertIn("SYS_PTRACE", r.ways[0])

    @unittest.skipUnless(shutil.which("unshare"), "no unshare")
    def test_another_user_namespace(self):
        with CliTarget("plain") as t:
            for option in "--user", "--map-root-user":
                by = [*AS_USER, "unshare", option]
                if call([*by, "true"]).code != 0:
                    self.skipTest("users may make no namespaces here")
                self.expect(doctor("-p", str(t.pid), by=by), "user-namespace",
                            rf"cannot attach to {t.pid} \(target\): it is in another user "
                            r"namespace, in which wallspy has no capabilities\.",
                            "run wallspy in its container (docker exec, podman exec, kubectl exec)",
                            f"sudo wallspy -p {t.pid}, outside of this container or sandbox")

    def test_a_sandbox(self):
        with CliTarget("plain") as t:
            by = [*AS_USER, "{deny}", "sandbox"]
            if call([word.format(**programs) for word in by] + ["true"]).code == 77:
                self.skipTest("no Landlock")
            r = doctor("-p", str(t.pid), by=by)
            self.expect(r, "yama", rf"cannot attach to {t.pid} \(target\): a sandbox \(Landlock",
                        f"wallspy -- {programs['target']} plain",
                        "run wallspy outside of that sandbox")
            self.assertEqual(doctor(by=by).code, 0)

    def test_another_user_s_process(self):
        pid = os.getpid() if IS_ROOT else 1
        self.expect(doctor("-p", str(pid), by=AS_USER), "other-user",
                    rf"cannot attach to {pid}: it belongs to root \(uid 0\), you are uid {UID}\. "
                    r"Ask its owner, or use sudo\. missing CAP_SYS_PTRACE, or that user's id",
                    f"sudo wallspy -p {pid}")

    def test_a_debugger(self):
        with CliTarget("traced") as t:
            tracer = t.process.pid
            self.expect(doctor("-p", str(t.pid), by=AS_USER), "traced",
                        rf"cannot attach to {t.pid}: target \(pid {tracer}\) is tracing it",
                        f"let target (pid {tracer}) detach, or end it")
            self.assertEqual(status(t.pid, "TracerPid"), str(tracer))

    def test_not_dumpable(self):
        with CliTarget("nodump") as t:
            self.expect(doctor("-p", str(t.pid), by=AS_USER), "not-dumpable",
                        rf"cannot attach to {t.pid}: it is not dumpable",
                        f"sudo wallspy -p {t.pid}")

    def test_it_has_ended(self):
        with CliTarget("zombie") as t:
            self.expect(doctor("-p", str(t.pid)), "ended", rf"{t.pid} \(target\) has ended")


class Child(unittest.TestCase):
    """Without a process."""

    def test_nothing_stops_it(self):
        r = doctor()
        self.assertEqual(r.code, 0, r)
        self.assertTrue(r.text.startswith("Nothing stops wallspy here. It stopped, read and let go "
                                          "a child of its own; "), r)

    def test_a_filter(self):
        r = doctor(by=NO_PTRACE)
        self.assertEqual((r.code, r.name), (3, "seccomp"), r)
        self.assertTrue(r.text.startswith("Tried on a child of wallspy's own: ptrace is blocked "),
                        r)

    def test_what_makes_it_slower(self):
        r = doctor(by=["{deny}", "process_vm_readv=EPERM"])
        self.assertEqual((r.code, r.here["process_vm_readv"]), (0, False), r)
        self.assertIn("slower, through /proc/PID/mem", r.text)
        r = doctor(by=["env", "WALLSPY_NO_SCHEDSTAT=1"])
        self.assertEqual((r.code, r.here["counts_runs"]), (0, False), r)

    def test_nobody_reads(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for options in [], ["--json"]:
                done = subprocess.run([programs["wallspy"], "doctor", *options],
                                      stdout=full, stderr=subprocess.DEVNULL, check=False)
                self.assertEqual(done.returncode, 1)


class Page(unittest.TestCase):
    def test_it_has_each_key_and_an_example(self):
        page = (DOCS / "doctor.md").read_text()
        (example,) = re.findall(r"```json\n(.*?)```", page, re.S)
        self.assertEqual(list(violations(json.loads(example), SCHEMA)), [])
        self.assertEqual([key for key in keys(SCHEMA) if f"`{key}`" not in page], [])


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny", "target")
