#include "summary/known.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "summary/frame_name.h"
#include "summary/python_module.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

#define ALWAYS_READY                                                                               \
    "a descriptor is ready whenever it asks (its other end has closed, nobody reads what it has, " \
    "or accept() fails), its time-out is 0, or it looks through very many"

/* Rows are tested with made stacks only.  Time is a row's where a function of it is anywhere on the
 * stack: FUNCTION as in frame_name_has(), "*": any.  WORDS come before its share, REMEDY behind
 * it. */
static const struct known {
    const char *file;     /* as python_installed_path() has it; NULL: native */
    const char *module;   /* the beginning of a native module's name */
    const char *function; /* of that file or module */
    const char *unless;   /* the end of a file that says that it is for something else; NULL */
    double least_share;   /* of the time on a CPU and waiting for one */
    const char *words, *remedy;
} known[] = {
    /* re keeps _MAXCACHE patterns, 512, and drops the oldest: CPython Lib/re/__init__.py. */
    {"re/_compiler.py", NULL, "*", NULL, 0.2, "Python's re compiles patterns",
     "its cache holds 512; keep what re.compile() returns"},
    {"sre_compile.py", NULL, "*", NULL, 0.2, "Python's re compiles patterns",
     "its cache holds 512; keep what re.compile() returns"},
    /* It follows every reference, in Python: CPython Lib/copy.py. */
    {"copy.py", NULL, "deepcopy", NULL, 0.2, "copy.deepcopy() runs",
     "it copies all that is referred to; a __deepcopy__() or __copy__() can copy what changes"},
    /* stack() looks the source lines of all callers up: CPython Lib/inspect.py, getframeinfo(). */
    {"inspect.py", NULL, "stack", NULL, 0.2, "inspect.stack() runs",
     "it looks up the source of all callers; sys._getframe(1) gives the caller alone"},
    /* c_make_encoder is used only if _one_shot and without indent: CPython Lib/json/encoder.py. */
    {"json/encoder.py", NULL, "_iterencode*", NULL, 0.2, "Python's json encodes without C",
     "its encoder in C works only for json.dumps() without an indent, not for json.dump()"},
    /* It makes a file of the text, whose end it looks for: glibc libio/strops.c. */
    {NULL, "libc", "sscanf", NULL, 0.3, "sscanf() runs",
     "it looks for the end of its text at each call; strtod() and strtol() stop after the number"},
    /* One lock for the state that all calls share: glibc stdlib/random.c. */
    {NULL, "libc", "rand", NULL, 0.2, "rand() runs",
     "it takes a lock that all threads share; rand_r() and C++'s <random> take none"},
    {NULL, "libc", "random", NULL, 0.2, "random() runs",
     "it takes a lock that all threads share; random_r() and C++'s <random> take none"},
    /* A free one takes no system call, but its cache line goes from CPU to CPU: futex(7).  Those of
     * threads in Python are the interpreter's. */
    {NULL, "libc", "pthread_mutex_*", ".py", 0.3, "Mutexes are taken and released",
     "hold one for several steps, or count in each thread"},
    /* Each asks the kernel: stat(2), inotify(7), os.scandir(). */
    {NULL, "libc", "fstatat*", NULL, 0.4, "Files are looked at, by stat(),",
     "inotify tells of changes, and a folder's entries tell what each is (os.scandir(), d_type)"},
    /* poll(2), and accept(2) for EMFILE: the connection stays in the queue. */
    {NULL, "libc", "poll", NULL, 0.5, "poll() runs", ALWAYS_READY},
    {NULL, "libc", "ppoll", NULL, 0.5, "ppoll() runs", ALWAYS_READY},
    {NULL, "libc", "select", NULL, 0.5, "select() runs", ALWAYS_READY},
    {NULL, "libc", "epoll_wait", NULL, 0.5, "epoll_wait() runs", ALWAYS_READY},
    /* Each takes a system-wide semaphore: CPython Modules/_multiprocessing/semaphore.c. */
    {NULL, "_multiprocessing.", "*", "/multiprocessing/queues.py", 0.2,
     "Locks of multiprocessing are taken and released",
     "count in each process, and add up now and then"},
    /* A Series is made of each row: pandas' user guide, "Iteration". */
    {"pandas/core/frame.py", NULL, "iterrows", NULL, 0.2, "DataFrame.iterrows() runs",
     "it makes a Series of each row; whole columns, or itertuples(), need none"},
    /* Its scanner is the one in Python: PyYAML's documentation, "yaml.CLoader". */
    {"yaml/scanner.py", NULL, "*", NULL, 0.2, "PyYAML scans in Python",
     "yaml.CSafeLoader does that in C"},
    /* It matches a pattern that it makes of the format: CPython Lib/_strptime.py. */
    {"_strptime.py", NULL, "*", NULL, 0.2, "Python's strptime() runs",
     "it is in Python; datetime.fromisoformat() is in C"},
    /* It opens the metadata of each installed distribution: CPython Lib/importlib/metadata. */
    {"importlib/metadata/__init__.py", NULL, "entry_points", NULL, 0.2,
     "importlib.metadata.entry_points() runs",
     "it reads the metadata of all installed packages; call it once, and keep the result"},
    /* Pickler and Unpickler of _pickle replace those that begin with '_': CPython Lib/pickle.py. */
    {"pickle.py", NULL, "_Pickler.save*", NULL, 0.2, "Python's pickle works without C",
     "pickle.Pickler is in C, pickle._Pickler is not"},
    {"pickle.py", NULL, "_Unpickler.load*", NULL, 0.2, "Python's pickle works without C",
     "pickle.Unpickler is in C, pickle._Unpickler is not"},
    /* mean() adds exact fractions: CPython Lib/statistics.py. */
    {"statistics.py", NULL, "mean", NULL, 0.2, "statistics.mean() runs",
     "it adds exact fractions; fmean() adds floats"},
    /* It makes a syntax tree of the text: CPython Lib/ast.py. */
    {"ast.py", NULL, "literal_eval", NULL, 0.2, "ast.literal_eval() runs",
     "it makes a syntax tree of each text; json.loads() is in C"},
    /* Where the module in C is missing: CPython Lib/decimal.py. */
    {"_pydecimal.py", NULL, "*", NULL, 0.2, "Python's decimal works without C",
     "this interpreter was built without _decimal"},
    /* It guesses the format: dateutil's documentation, "parser". */
    {"dateutil/parser/_parser.py", NULL, "parse", NULL, 0.2, "dateutil guesses formats of dates",
     "datetime.fromisoformat() knows its format, and is in C"},
    /* requests.get() makes a Session, which loads all certificates for its first connection:
     * requests' documentation, "Session Objects"; urllib3/util/ssl_.py. */
    {"urllib3/util/ssl_.py", NULL, "ssl_wrap_socket", NULL, 0.2, "TLS connections are opened",
     "each may load the certificates; one requests.Session() or urllib3.PoolManager() keeps them "
     "open"},
    /* validate() checks the schema, too: jsonschema's documentation, "The Basics". */
    {"jsonschema/validators.py", NULL, "check_schema", NULL, 0.2, "jsonschema checks its schema",
     "validate() does so at each call; a validator that is kept, as Draft202012Validator(schema), "
     "checks the message alone"},
    /* It calls a function for each row or column: pandas' user guide, "Enhancing performance". */
    {"pandas/core/apply.py", NULL, "apply_series_generator", NULL, 0.2, "DataFrame.apply() runs",
     "it calls a function of Python for each row or column; whole columns need none"},
    /* "A copy of arr with values appended": numpy's reference, numpy.append, numpy.vectorize. */
    {"numpy/lib/function_base.py", NULL, "append", NULL, 0.2, "numpy.append() runs",
     "it copies the whole array each time; a list, made an array once, does not"},
    {"numpy/lib/_function_base_impl.py", NULL, "append", NULL, 0.2, "numpy.append() runs",
     "it copies the whole array each time; a list, made an array once, does not"},
    {"numpy/lib/function_base.py", NULL, "vectorize._vectorize_call", NULL, 0.2,
     "numpy.vectorize() runs", "it is a loop in Python; operations on whole arrays are in C"},
    {"numpy/lib/_function_base_impl.py", NULL, "vectorize._vectorize_call", NULL, 0.2,
     "numpy.vectorize() runs", "it is a loop in Python; operations on whole arrays are in C"},
};
static const double calls_share = 0.03; /* of the time */
enum { CALL_NS = 300 };                 /* no read or write takes less */
static const double small_bytes = 512;  /* a buffer of a page has many of them */
enum { N_KNOWN = sizeof known / sizeof *known };
static_assert(N_KNOWN <= 32, "rows are bits");

/* The C library's functions have prefixes, and "*" stands for their ends. */
static bool is_named(const struct shown_frame *f, const char *function)
{
    size_t len = strlen(function);
    if (*function == '*')
        return true;
    if (!f->libc)
        return frame_name_has(f->name, function);
    if (function[len - 1] == '*')
        return strncmp(frame_libc_name(f->name), function, len - 1) == 0;
    size_t n = strlen(f->name); /* "__isoc99_sscanf", and no getrandom() for random() */
    return str_ends(f->name, function) && (n == len || f->name[n - len - 1] == '_');
}

/* Only the library's own file: others have a statistics.py or a yaml/scanner.py, too. */
static bool is_of(const struct shown_frame *f, const char *path, const struct known *row)
{
    if (row->file)
        return path && str_eq(path, row->file) &&
               (*row->function == '*' || frame_name_has(f->name, row->function));
    if (f->kind != SHOWN_NATIVE || !f->module || !str_starts(f->module, row->module))
        return false;
    return is_named(f, row->function) && frame_role(f, false) != ROLE_OWN;
}

/* What a module does when it is imported it does once: that is no row's. */
static struct known_frame look_at(const struct shown_frame *f)
{
    struct known_frame ret = {.unless = frame_is_importlib(f) ? UINT32_MAX : 0};
    bool python = f->kind == SHOWN_PYTHON && f->file;
    const char *path = python ? python_installed_path(f->file) : NULL;
    for (size_t i = 0; i < N_KNOWN; i++) {
        const struct known *row = &known[i];
        ret.rows |= is_of(f, path, row) ? 1U << i : 0;
        ret.unless |= python && row->unless && str_ends(f->file, row->unless) ? 1U << i : 0;
    }
    return ret;
}

struct known_frames known_frames_new(const struct view *v)
{
    struct known_frames all = {.n = view_frame_count(v)};
    all.items = xcalloc(all.n + (size_t)1, sizeof *all.items);
    for (uint32_t id = 1; id <= all.n; id++) {
        all.items[id] = look_at(view_frame(v, id));
        all.rows |= all.items[id].rows;
    }
    return all;
}

static uint32_t rows_of(const struct known_frames *all, const struct shown_frame *stack, size_t n)
{
    uint32_t rows = 0, unless = 0;
    for (size_t i = 0; i < n; i++)
        if (stack[i].id <= all->n) {
            rows |= all->items[stack[i].id].rows;
            unless |= all->items[stack[i].id].unless;
        }
    return rows & ~unless;
}

static void add_run(const struct scene *s, const struct run *run, int64_t *sums, int64_t *all_ns)
{
    size_t n;
    if (run->state == RUN_BLOCKED || run->state == RUN_STOPPED || run->state == RUN_MISSED)
        return;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    *all_ns += run->weights.wall_ns;
    uint32_t rows = rows_of(s->known, stack, n);
    for (size_t i = 0; i < N_KNOWN && rows; i++)
        sums[i] += rows >> i & 1 ? run->weights.wall_ns : 0;
}

/* " It makes 525,000 reads a second, of 1 byte each on average.", if N calls take much of GROUP's
 * time. */
static void add_calls(const struct thread_group *group, uint64_t n, uint64_t bytes,
                      const char *what, struct text *words)
{
    if ((double)n * CALL_NS < calls_share * (double)group->wall_ns)
        return;
    double each = (double)bytes / (double)n;
    text_addf(words, " %s ", group->plural ? "They make" : "It makes");
    text_add_thousands(words, rule_per_second_of_life(n, group));
    text_addf(words, " %s a second", what);
    if (each < 0.5)
        text_add(words, ", most of which return nothing.");
    else
        text_addf(words, ", of %.0f byte%s each on average%s", each, each < 1.5 ? "" : "s",
                  each < small_bytes ? ": for a file, use a buffer." : ".");
}

double add_known(const struct scene *s, const struct thread_group *group, const char *of,
                 struct text *words, struct finding *f)
{
    int64_t sums[N_KNOWN] = {0};
    int64_t all_ns = 0;
    size_t best = 0;
    for (size_t i = 0; i < group->n && s->known->rows; i++)
        for (size_t k = 0; k < group->threads[i]->thread->n_runs; k++)
            add_run(s, &group->threads[i]->thread->runs[k], sums, &all_ns);
    for (size_t i = 0; i < N_KNOWN; i++)
        best = sums[i] > sums[best] ? i : best;
    struct profile_usage u = rule_usage_of(group);
    double share = share_of(sums[best], all_ns);
    if (share > 0 && share >= known[best].least_share) {
        text_addf(words, " %s for ", known[best].words);
        add_percent(words, share);
        text_addf(words, " of %s: %s.", of, known[best].remedy);
        add_figure(f, "known_share", share);
    } else {
        share = 0;
    }
    add_figure(f, "reads_per_s", rule_per_second_of_life(u.reads, group));
    add_figure(f, "writes_per_s", rule_per_second_of_life(u.writes, group));
    add_calls(group, u.reads, u.read_bytes, "reads", words);
    add_calls(group, u.writes, u.written_bytes, "writes", words);
    return share;
}
