"""The situations: each a program with a known culprit, and what wallspy has to say of it; its twin
without the fault, of which that must not be said; and healthy programs, of which there is nothing
to say.

In commands {built} is the folder of the programs in C, {programs} that of those in Python, {demo}
the demo's, {files} a folder with small files.  {nas} runs what follows where <> is the folder of a
slow file system.
"""
import dataclasses
import sys

# The CPythons whose `with lock:` tells who has the lock.
KEEPS_EXIT = (3, 11) <= sys.version_info < (3, 14)
# Those whose asyncio tasks are read.
HAS_TASKS = sys.version_info >= (3, 11)


@dataclasses.dataclass
class Situation:
    name: str
    culprit: str  # for people
    command: str  # a shell's words; {seconds}: how long to run, and --twin for the twin
    rule: str = ""  # of the first finding
    words: tuple = ()  # regular expressions; all are in that finding
    # of that finding: its key, the program's own for the same, and how far they may be apart
    figure: tuple = ()
    figures: tuple = ()  # more of them
    twin: str | None = None  # the twin's command, where it differs by more than --twin
    environment: dict = dataclasses.field(default_factory=dict)
    twin_says: tuple = ()  # rules of faults that are true of the twin
    twin_environment: dict = dataclasses.field(default_factory=dict)
    quota: float = 0  # CPUs of its cgroup; the twin has none
    memory_mb: int = 0  # of its cgroup; the twin has none
    frozen: bool = False  # its cgroup is, while it is recorded; the twin's is not
    spinners: int = 0  # other programs that take the CPUs; the twin has none
    record_s: float = 3
    options: tuple = ()  # of wallspy
    alone: bool = False  # needs two CPUs for itself: nothing runs beside it
    healthy: tuple = ()  # rules that may be said; not empty: there is no culprit, and no twin
    unsaid: str = "stall"  # healthy: what no finding may say
    recorded_within: float = 0.03  # how far a share in a fixture may be off
    gate: bool = False  # runs live at each change; all are judged as fixtures
    unrecorded: str = ""  # why there is no fixture of it
    not_words: tuple = ()  # regular expressions; none is in any finding
    # why the answer is not right yet: it must be wrong until somebody mends it
    wrong_today: str = ""

    def all_figures(self, recorded=False):
        """RECORDED: a share is that of the very recording, and may be off by `recorded_within`
        only."""
        figures = (*self.figures, *([self.figure] if self.figure else []))
        return [(key, true,
                 min(within, self.recorded_within) if recorded and key == "share" else within)
                for key, true, within in figures]

    def parts(self):
        """The tests of it: True for the twin."""
        return (False,) if self.healthy else (False, True)


def waits(name, culprit, command, *words, rule="waits_meanwhile", figure=("share", "share", 0.08),
          **more):
    return Situation(name, culprit, command, rule, words, figure, **more)


def healthy(name, command, *rules, **more):
    return Situation(name, "", command, healthy=rules or ("computes",), **more)


WAITING = [
    waits("demo",
          "main waits for mge-worker, which asks the driver for its properties at each operator",
          "{demo}/train.py --truth --seconds {seconds}",
          r"\bmain\b", "Worker::sync", "numpy_of", "Meanwhile mge-worker",
          "cudaGetDeviceProperties", "ioctl",
          figure=("share", "main.waiting", 0.06), twin="{programs}/fit.py {seconds} {demo}",
          gate=True),
    waits("engine",
          "main waits for engine, which asks the driver for its properties at each request",
          "{built}/infer {seconds}",
          r"\bmain\b", "Engine::result|predict", "Meanwhile engine", "cudaGetDeviceProperties",
          "ioctl"),
    waits("chain",
          "main waits for assemble, which waits for the thread supply, which is busy in unpack()",
          "{built}/deliver {seconds}",
          r"\bmain\b", "receive", "Meanwhile supply", "unpack"),
    waits("mutex", "refresh keeps the mutex of the cache while it waits for the data base",
          "{built}/cache {seconds}",
          r"\bmain\b", "look_up", "mutex table held by refresh", "query", rule="waits_for"),
    waits("python-lock", "deliver keeps the lock of the stock while it checks a delivery's papers",
          "{programs}/stock.py {seconds}",
          r"\bmain\b", r"order stock\.py",
          "a lock held by deliver" if KEEPS_EXIT else r"\bdeliver\b", "check_papers",
          rule="waits_for" if KEEPS_EXIT else "waits_meanwhile", twin_says=("gil",)),
    # Either says it: they wait for main, or main computes.
    Situation("producer", "main is busy in split(), and four threads wait for documents",
              "{built}/index {seconds}", "waits_meanwhile|computes",
              (r"\bmain\b", "split")),
    waits("python-queue", "main waits for pictures of the thread reader, which is busy in decode()",
          "{programs}/resize.py {seconds}",
          r"\bmain\b", r"main resize\.py|get", "Meanwhile reader", r"decode resize\.py"),
    waits("rust", "three handlers wait for writer, which is busy in checksum()",
          "{built}/store {seconds}",
          r"handler|\bmain\b", "Meanwhile writer", "checksum|write_records", figure=()),
    Situation("file-turn", "main sleeps 20 ms at a time until another program's file is gone",
              "{programs}/stamps.py {seconds}", "polls",
              (r"main polls", r"wait_for_turn stamps\.py", r"a second, 2\d ms each"),
              ("share", "share", 0.08),
              twin_says=("waits_meanwhile",)),
    waits("upstream", "three server processes wait for an answer of another server",
          "{programs}/prefork.py {seconds}",
          r"fetch prefork\.py", r"recvfrom 127\.0\.0\.1:\d+",
          rule="waits_meanwhile|waits"),
    waits("service", "main waits for another process's thread, which adds up each price anew",
          "{programs}/orders.py {seconds}",
          r"waits \d+% of its time in ask_price orders\.py",
          r"It waits for \d+ \(python3?[^)]*\), which has the socket's other end",
          r"Meanwhile .* in add_up_price orders\.py", rule="waits_meanwhile|waits",
          options=("-s",)),
    waits("service-timed", "the same with a time-out, as most clients have one: main polls",
          "{programs}/orders.py {seconds} --timeout",
          r"waits \d+% of its time in ask_price orders\.py",
          r"It waits for \d+ \(python3?[^)]*\), which has the socket's other end",
          r"Meanwhile .* in add_up_price orders\.py", rule="waits_meanwhile|waits",
          options=("-s",)),
    waits("no-answer", "four servers have stopped answering, and main polls their connections",
          "{programs}/ask.py {seconds}",
          r"\bmain\b", r"first_answer ask\.py", r"4 connections to 127\.0\.0\.1:\d+",
          rule="waits|none_ran", figure=()),
    waits("helper", "main waits for a command that converts each picture",
          "{programs}/convert.py {seconds}",
          r"\bmain\b", r"convert convert\.py", r"children \(sleep\)|its child \d+ \(sleep\)",
          rule="waits", gate=True),
    Situation("file-lock",
              "main keeps a file's lock, for which its helper waits, while it waits for that one",
              "{programs}/locked.py {seconds}", "deadlock",
              (r"main.*read_report locked\.py", r"helper locked\.py", "file's lock", "pipe")),
    waits("log", "main writes its log to a full pipe",
          "{built}/export {seconds}",
          r"\bmain\b", "log_row", r"waits for \d+ \(export\), which has the pipe's other end",
          rule="waits_meanwhile|waits"),
    Situation("deadlock", "deposit and withdraw hold the mutex that the other one waits for",
              "{built}/transfer {seconds}", "deadlock",
              (r"deposit \d+ waits in transfer [^;.]*\.[^;]* held by withdraw \d+",
               r"withdraw \d+ waits in transfer [^;.]*\.[^;]* held by deposit \d+",
               r"Behind it: main \d+"), gate=True),
    Situation("lost-wake-up", "deliver waits for a signal that came before it waited",
              "{built}/mailbox {seconds}", "stuck",
              (r"All 2 threads wait for one another", r"only a signal can wake them",
               r"deliver waits for a condition in take_letter_too_late",
               r"main waits for deliver to end")),
    Situation("own-pool",
              "the pages take all threads of the pool in which their pictures are to be made",
              "{programs}/album.py {seconds}", "stuck",
              (r"All 5 threads wait for one another",
               r"4 album threads wait .*\bresult, called from make_page album\.py",
               r"main waits .*\bresult, called from make_album album\.py")),
    waits("inherited-lock", "the log's mutex was held by a thread that fork() did not copy",
          "{built}/report {seconds}",
          r"\breport\b|\bmain\b", "write_log",
          r"mutex log_mutex held by \d+, which is not a thread of this process",
          rule="waits_for", figure=()),
    waits("rwlock", "reload keeps the settings' rwlock for writing while it waits for their file",
          "{built}/settings {seconds}",
          r"\bmain\b", "read_setting", "rwlock settings held by reload", "fetch_file",
          rule="waits_for"),
    waits("contention", "four threads keep one mutex in turn while each notes a count",
          "{built}/tally {seconds}",
          "4 count threads", "mutex counts_lock", "add_word", "4 threads hold it in turn",
          r"in turn, \d+% of that time in .*note", rule="contention"),
    waits("log-lock",
          "handlers wait for the logger's lock, which each has while it writes to a full pipe",
          "{programs}/booking.py {seconds}",
          r"4 (handler|booking\.py|python)", r"in Handler\.acquire",
          r"4 threads hold it in turn",
          r"in turn, \d+% of that time in .*StreamHandler\.\w+ > write pipe",
          r"waits? for \d+ \(python3\), which has the pipe's other end",
          rule="contention", figure=()),
    waits("python-contention", "eight threads keep one lock of Python's in turn while each sleeps",
          "{programs}/clerks.py {seconds}",
          r"8 (clerk|clerks\.py|python)", "for a lock, in serve_customer",
          r"At least \d threads hold it in turn", rule="contention"),
    waits("join-chain",
          "main waits for assemble to end, that for load, and load for another program",
          "{built}/harvest {seconds}",
          r"\bmain\b", "for assemble to end, which waits for load to end", "ask_store .*recvfrom",
          r"It waits for \d+ \(harvest\), which has the socket's other end",
          rule="waits_for", figure=()),
    waits("never-ends",
          "main is done, and the program goes on for publish, which waits for a server",
          "{programs}/publish.py {seconds}",
          r"main waits", r"in _shutdown threading\.py:\d+, for publish to end",
          r"ask_server publish\.py.*recvfrom 127\.0\.0\.1",
          "main has finished; Python waits for its non-daemon threads",
          rule="waits_for", figure=()),
    waits("futures", "main waits for four threads of its pool, which wait for a slow server",
          "{programs}/gather.py {seconds}",
          r"main waits", "condition",
          r"4 fetcher threads are \d+% in fetch gather\.py.*recvfrom 127\.0\.0\.1", rule="waits"),
    waits("requests",
          "a server's threads for requests wait for a slow store, and main for requests",
          "{programs}/pages.py {seconds}",
          r"process_request\S* threads wait \d+% of their time", r"load_page pages\.py",
          r"recvfrom 127\.0\.0\.1",
          rule="waits", figure=()),
    waits("sqlite", "main waits for a data base, in which another program has a transaction open",
          "{programs}/till.py {seconds}",
          r"main waits", r"note_sale till\.py",
          "SQLite tries again there: another connection has the database locked",
          rule="waits"),
    waits("blocked-loop", "load_template blocks the event loop",
          "{programs}/notify.py {seconds}",
          r"main sleeps", "load_template", r"That keeps its event loop \(asyncio\) from polling",
          rule="waits"),
    waits("driver-lock", "eight ranks wait for one lock of the driver at each operator",
          "{programs}/tune.py {seconds}",
          "8 ranks", r"get_device_properties tune\.py", r"fcntl \S*device",
          rule="waits.*|contention",
          options=("-s",), gate=True),
    Situation("ranks", "rank 1 loads its batches from a slow store",
              "{programs}/rank.py {seconds}", "differs",
              ("rank1|rank 1", r"load_batch rank\.py", r"all_reduce\S* rank\.py"),
              ("share", "share", 0.08)),
]

RESOURCES = [
    Situation("loader", "two workers read files of a slow file system, and main waits for them",
              "{nas} {programs}/feed.py {seconds} <>", "slow_files",
              (r"load_batch\S* feed\.py", r"fuse\.sshfs", "nas:/export", r"\d ms a read"),
              ("share", "share", 0.08),
              figures=(("call_s", "read_s", 0.004),), twin="{programs}/feed.py {seconds} {files}",
              gate=True),
    Situation("journal", "main syncs each record to a slow file system",
              "{nas} {built}/journal {seconds} <>/log", "slow_files",
              ("append", r"fuse\.sshfs", "nas:/export", r"\d ms a sync"), ("share", "share", 0.08),
              figures=(("call_s", "sync_s", 0.004),),
              twin="{built}/journal {seconds} --twin {files}/log"),
    Situation("gil", "three threads compute in Python, and main waits for the GIL",
              "{programs}/serve.py {seconds}", "gil",
              (r"\bmain\b", r"encode-\d\b.*encode-\d\b.*encode-\d\b|3 encode", r"encode serve\.py"),
              ("share", "share", 0.08), gate=True),
    Situation("gil-in-c", "refresh keeps the GIL while a function in C sleeps",
              "{programs}/quote.py {seconds} {built}/libtariff.so", "gil",
              (r"\bmain\b", r"\brefresh\b", r"tariff_price|refresh quote\.py"),
              ("share", "share", 0.1)),
    Situation("arena", "eight threads share one malloc arena",
              "{built}/parse {seconds}", "malloc_arena",
              ("8 parser", "build", "MALLOC_ARENA_MAX is 1"),
              environment={"MALLOC_ARENA_MAX": "1"}, alone=True),
    Situation("page-faults", "each frame's memory is given back, and memcpy() fetches it anew",
              "{built}/decode {seconds}", "page_faults",
              (r"\bmain\b", "memcpy", "decode_frame"), ("minor_faults_per_s", "faults_per_s", 0.2),
              gate=True),
    Situation("pages", "main waits for pages of a mapped file, which the kernel has dropped",
              "{built}/ledger {seconds}", "major_faults",
              (r"\bmain\b", "add_up ledger.c", "mapped files"),
              ("major_faults_per_s", "faults_per_s", 0.2)),
    Situation("quota", "the cgroup's CPU quota is 0.2 CPU",
              "{built}/solve {seconds}", "cpu_wait",
              (r"\bmain\b", "cgroup", r"0\.2 CPU", "throttled"), ("share", "share", 0.06),
              quota=0.2, gate=True),
    Situation("openmp", "eight OpenMP threads on two CPUs",
              "{built}/simulate {seconds}", "cpu_wait",
              ("OpenMP|simulate|omp", "2 CPUs", "OMP_NUM_THREADS is 8"),
              environment={"OMP_NUM_THREADS": "8"},
              twin_environment={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}, alone=True),
    Situation("spins-for-gpu", "main asks the GPU's driver again and again instead of sleeping",
              "{built}/sample {seconds}", "spinning",
              (r"\bmain\b", "for the GPU", "cudaStreamSynchronize", "take_step"),
              ("share", "share", 0.08), gate=True),
    Situation("spins-at-gate", "four threads on two CPUs ask again and again whether all have come",
              "{built}/galley {seconds}", "spinning",
              (r"rower\b|rowers\b|rower-", "for others, in wait_for_stroke"), alone=True,
              twin_says=("switches",)),
    Situation("spins-in-openmp", "an OpenMP thread spins at the barrier while main works",
              "{built}/reduce {seconds}", "spinning",
              (r"omp worker|reduce", "OpenMP barriers", "OMP_WAIT_POLICY=passive"),
              ("share", "share", 0.1),
              environment={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"},
              twin_environment={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}, alone=True),
    Situation("runtimes", "the threads of two OpenMP runtimes spin while the other's work",
              "{built}/blend {built}/libblend-libgomp.so {built}/libblend-libomp.so {seconds}",
              "openmp_runtimes", ("1 thread of libgomp", "1 of lib(omp|iomp5)", "spinning"),
              ("first_cpus", "first_cpus", 0.15), figures=(("second_cpus", "second_cpus", 0.15),),
              environment={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"},
              twin_environment={"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"}, alone=True,
              twin_says=("spinning", "computes"), unrecorded="it needs libomp"),
    Situation("neighbours", "four other programs take the CPUs",
              # Pinned: where the kernel groups tasks by session it would have a CPU for itself.
              "taskset -c {cpu} {built}/solve {seconds}", "cpu_wait",
              (r"\bmain\b", "other programs"), ("share", "share", 0.06), spinners=4, alone=True,
              record_s=6),
    Situation("switches", "two threads pass single messages to each other",
              "{built}/pass {seconds}", "switches",
              (r"\bmain\b|\bsecond\b", r"pipe|read|write|send_back|pass\.c"),
              ("switches_per_s_a_thread", "switches_per_s_a_thread", 0.4)),
]

OTHERS = [
    Situation("asyncio", "build_report() keeps the event loop for 0.3 s",
              "{programs}/web.py {seconds}", "event_loop",
              (r"\bmain\b", "stall", r"build_report web\.py"),
              ("longest_stall_s", "longest_s", 0.04), gate=True),
    Situation("asyncio-queue",
              "the task that empties the queue has ended, and all handlers wait in put()",
              "{programs}/ingest.py {seconds}",
              "tasks_wait" if HAS_TASKS else "event_loop|none_ran",
              (r"6 asyncio tasks wait for one full queue",
               r"handle ingest\.py:\d+ > Queue\.put") if HAS_TASKS else
              (r"\bmain\b",)),
    Situation("epoll", "look_up() waits for an answer in the event loop for 0.25 s",
              "{built}/relay {seconds}", "event_loop",
              (r"\bmain\b", "stall", "look_up"), ("longest_stall_s", "longest_s", 0.04)),
    Situation("oracle", "a server has its garbage collected now and then, and stalls",
              "{programs}/oracle.py {seconds}", "stalls",
              (r"\bmain\b stalls", r"Longest stall: \d+ ms collecting garbage in answer oracle\.py",
               r"gc\.freeze\(\)"),
              ("longest_stall_s", "longest_s", 0.05)),
    Situation("rates", "a server waits for a lock that refresh keeps while it fetches, and stalls",
              "{programs}/rates.py {seconds}", "stalls",
              (r"\bmain\b stalls", "Longest stall", r"look_up\b.*rates\.py",
               "held by refresh, which is then in .*fetch_rates" if KEEPS_EXIT else "look_up"),
              ("longest_stall_s", "longest_s", 0.05)),
    Situation("crawl", "of 60 tasks 55 wait for one of 5 connections",
              "{programs}/crawl.py {seconds}", "tasks_wait" if HAS_TASKS else "event_loop",
              (r"5\d of 61 asyncio tasks waited for one semaphore",
               r"fetch crawl\.py:\d+ > Connections\.take crawl\.py:\d+ > Semaphore\.acquire",
               r"others? came further, and waited in fetch crawl\.py:\d+ > sleep") if HAS_TASKS
              else (r"\bmain\b",)),
    Situation("thumbs", "30 tasks need one of 4 threads, and so does one that looks up a name",
              "{programs}/thumbs.py {seconds}", "no_free_thread" if HAS_TASKS else "event_loop",
              (r"3[01] asyncio tasks waited for an executor thread's result",
               r"There are 4 executor threads",
               r"4 thumbs threads are \d+% in make_thumbnail thumbs\.py") if HAS_TASKS
              else (r"\bmain\b",)),
    Situation("parent", "a server's parent process only waits for its children",
              "{programs}/prefork.py {seconds} --parent", "only_children",
              ("only waits for its children", r"\d+", "wallspy -")),
    Situation("shell", "a shell only waits for the program",
              "sh -c '{built}/solve {seconds}; true'", "only_children",
              (r"\bsh\b", "only waits for its child"), twin="{built}/solve {seconds}"),
    Situation("followed-parent", "a server's children wait for another server",
              "{programs}/prefork.py {seconds} --parent", "waits.*", ("fetch",), options=("-s",),
              twin="{built}/solve {seconds}"),
    Situation("followed-shell", "a shell's program computes in eliminate()",
              "sh -c '{built}/solve {seconds}; true'", "computes", ("eliminate",), options=("-s",),
              twin="{programs}/prefork.py {seconds} --parent"),
    Situation("commands", "main only waits for the commands that it runs",
              "{programs}/build.py {seconds}", "only_children|waits",
              ("child|compile_unit",)),
    Situation("followed-commands", "main starts a process for each piece of work",
              "{programs}/build.py {seconds}", "waits",
              (r"\(python\S*\) waits \d+% of its time in compile_unit build\.py",
               r"starts one process after the other: \d+ in 3\.\d s",
               r"For \d+% of their time they are in"), options=("-s",)),
    Situation("collector", "the garbage is collected after each answer",
              "{programs}/graph.py {seconds}", "gc",
              (r"\bmain\b", "garbage", r"main graph\.py|gc_collect"), ("share", "share", 0.06)),
    Situation("imports", "a command imports large packages at each start",
              "{programs}/start.py {seconds}", "imports",
              (r"\bmain\b", r"importing modules: \d+% ledger, \d+% charts\."),
              ("share", "share", 0.06)),
    Situation("messages", "each task of a pool takes its rows along",
              "{programs}/scores.py {seconds}", "messages",
              (r"Passing data between processes takes \d+%", r"is \d+% in score_all scores\.py"),
              options=("-s",)),
    Situation("thread-starts", "a thread is started for each short task",
              "{programs}/each.py {seconds}", "thread_starts",
              (r"\bmain\b", r"starting threads, in start_threads each\.py"),
              ("share", "share", 0.1),
              recorded_within=0.08),  # the first moments of threads are not counted yet
    Situation("halves",
              "no fault, but two names: half of the time goes into blur(), half into scale()",
              "{built}/render {seconds}", "computes",
              (r"\bmain\b", r"\bblur\b", r"\bscale\b")),
    Situation("town", "twelve functions call json.dumps(), and none of them is heavy",
              "{programs}/town.py {seconds}", "computes",
              (r"\bmain\b", r"\b(dumps|encode)\b",
               r"called by by_\w+ town\.py:\d+, by_\w+ town\.py:\d+ and 10 others"),
              ("heaviest_path_share", "dumps", 0.06), not_words=(r"<module>",)),
]

HEALTHY = [
    healthy("c", "{built}/solve {seconds}", gate=True),
    healthy("python", "{programs}/text.py {seconds}"),
    healthy("vectors", "{programs}/vectors.py {seconds} {built}/libvector.so"),
    healthy("archive", "{programs}/archive.py {seconds}"),
    healthy("spawn", "{built}/spawn {seconds}"),
    healthy("belt", "{built}/belt {seconds}", alone=True),
    healthy("crew", "{built}/crew {seconds}", "nothing", "computes", "waits"),
    healthy("pool", "{programs}/pool.py {seconds}", "nothing", "computes", "waits"),
    healthy("server", "{built}/listen {seconds}", "none_ran", "nothing", "event_loop", "waits"),
    healthy("chat", "{programs}/chat.py {seconds}", "none_ran", "nothing", "event_loop", "waits"),
    healthy("mailer", "{programs}/mailer.py {seconds}", "none_ran", "nothing", "event_loop",
            "waits",
            unsaid="stall|tasks"),
    healthy("on-call", "{built}/on_call {seconds}", "none_ran", "nothing", "waits",
            unsaid="signal"),
    healthy("schedule", "{programs}/schedule.py {seconds}", "none_ran", "nothing", "event_loop",
            "waits"),
    # Two threads are busy with different things: neither may be named.
    healthy("two-busy", "{built}/merge {seconds}", "waits_meanwhile", "computes", "nothing",
            "waits",
            unsaid="Meanwhile", alone=True),
    healthy("short", "{built}/solve {seconds}", "too_short", record_s=0.5, gate=True),
]

# Troubles that somebody reported publicly, rebuilt.
CASES = [
    # Where a player hardly sleeps for the lock, by chance, its CPU time says it.
    Situation("rand", "two players wait for the lock inside rand()",
              "{built}/dice {seconds}", "libc_lock|computes",
              (r"player-[01]\b", r"\brand\b", r"all\s+threads\s+share"),
              twin_says=("waits_meanwhile", "computes"), alone=True),  # on one CPU they do not meet
    Situation("fork-openmp",
              "two forked processes wait for OpenMP threads that only their parent has",
              "{programs}/weaver.py {seconds} {built}/libweave.so", "waits.*|stuck|none_ran",
              (r"weave_cloth weaver\.py", r"\bfork", r"spawn|forkserver"), options=("-s",),
              twin="{programs}/weaver.py {seconds} --twin {built}/libweave.so",
              twin_says=("imports", "waits_meanwhile", "gc", "cpu_wait")),
    Situation("manager", "two processes ask a Manager's process for each price",
              "{programs}/stock_book.py {seconds}", "waits.*|messages",
              (r"2 |and", r"add_up stock_book\.py"), options=("-s",),
              twin_says=("waits_meanwhile",), wrong_today="A6: add_up(), which asks, is not named"),
    Situation("borrow", "eight readers need one of two copies of a book",
              "{programs}/borrow.py {seconds}", "exhausted",
              (r"(5\.[89]|6\.\d) of 8 reader threads wait in borrow_copy borrow\.py:\d+ > c",
               r"and (1\.9|2\.\d) are past that, in read_chapter borrow\.py:\d+",
               "enlarge it"),
              ("share", "share", 0.08), twin_says=("none_ran", "waits")),
    Situation("uneven", "main waits for a pool, one process of which has all that takes long",
              "{programs}/tiles.py {seconds}", "uneven",
              (r"\(python\S*\) waits \d+% of its time in render_map tiles\.py",
               r"On average 1\.\d of 4 python\S* processes have work then",
               r"one works alone, in (.*> )?render_tile tiles\.py", "chunksize=1"),
              ("share", "share", 0.05), (("alone_share", "alone_share", 0.1),), options=("-s",),
              twin_says=("cpu_wait", "waits_meanwhile")),
    Situation("own-queue",
              "main puts on the queue that it has locked, in the finalizer of what it puts there",
              "{programs}/courier.py {seconds}", "deadlock|stuck|waits_for",
              (r"\bmain\b", r"__del__ courier\.py", r"itself|its own"),
              wrong_today="" if sys.version_info >= (3, 11)
              else "this CPython does not tell who has it"),
    Situation("poll-once", "main waits by an epoll of its own for a slow gauge",
              "{programs}/gauge.py {seconds}", "waits.*|none_ran",
              (r"\bmain\b", r"read_gauge gauge\.py"), ("share", "share", 0.08)),
    Situation("pattern", "a pattern goes back and forth in check_name()",
              "{programs}/hedge.py {seconds}", "computes|gil", (r"check_name hedge\.py",),
              twin="{built}/solve {seconds}"),
    Situation("ready-for-ever",
              "a descriptor at its end is always ready, and on_line() does not take it out",
              "{programs}/lines.py {seconds}", "ready_loop",
              (r"\bmain\b", r"on_line lines\.py"), not_words=("from polling",)),
    Situation("index-thrashes",
              "main waits for pages of an index that is larger than its cgroup's memory",
              "{programs}/orchard.py {seconds} {files}.index", "major_faults",
              (r"\bmain\b", r"look_up orchard\.py", r"cgroup|memory limit"), memory_mb=60,
              twin="{programs}/orchard.py {seconds} --twin {files}.index"),
    Situation("killed-worker", "map() waits for the sheet of a worker that was killed",
              "{programs}/press.py {seconds}", "stuck|none_ran|waits.*",
              (r"print_all press\.py",), options=("-s",)),
    Situation("join-first", "main waits for processes to end, and they for main to empty the queue",
              "{programs}/weigh.py {seconds}", "stuck|deadlock|none_ran|waits.*",
              (r"weigh_all weigh\.py",), options=("-s",),
              twin_says=("messages", "page_faults")),
    Situation("rests", "main rests on the line before the one on which it grinds",
              "{programs}/twolines.py {seconds}", "waits.*", (r"work twolines\.py:17",),
              ("share", "share", 0.08)),
    Situation("slow-end", "all objects are freed, one by one, at the interpreter's end",
              "{programs}/catalogue.py {seconds}", "computes|gc", (r"\bmain\b", r"_exit"),
              record_s=1, options=("-r", "1000")),
    Situation("asks-terminal",
              "a program in the background is stopped, for it reads from the terminal",
              "{programs}/asks.py {seconds}", "stuck|none_ran|only_children|waits.*|stopped",
              (r"stopped", r"ask_user asks\.py|\bsh\b"), options=("-s",)),
    Situation("frozen", "its cgroup is frozen",
              "{programs}/hedge.py {seconds}", ".*", ("frozen",), frozen=True, twin_says=("gil",)),
]

SITUATIONS = WAITING + RESOURCES + OTHERS + CASES + HEALTHY
# What may be said where nothing is wrong.
OF_HEALTHY = ("computes", "nothing", "event_loop", "none_ran", "waits")
