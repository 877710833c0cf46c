/* What is known to be slow of others' code. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

/* Main runs for MS of 4 s in STACK, and else in a function of its own. */
static void assert_known(const char *stack, int64_t ms, const char *words)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, stack, ms, ms);
    builder_run(&b, lead, "step@/src/a.py:1:2 > think@/src/a.py:5:6", 4000 - ms, 4000 - ms);
    judge(4000);
    if (words)
        assert_told(0, "computes", words);
    bool computes = false;
    for (size_t i = 0; i < found.n && !words; i++) { /* also what is not printed */
        const struct finding *f = &found.items[i];
        computes |= f->words && strcmp(f->rule, "computes") == 0;
        ck_assert(!f->words || !strstr(f->words, " of its CPU time: "));
    }
    ck_assert(words || computes);
    teardown();
}

#define LIB(file) "@/usr/lib/python3.11/" file ":1:2"
#define STEP      "step@/src/a.py:1:2 > "

START_TEST(what_is_known_to_be_slow_is_told)
{
    static const struct {
        const char *stack, *words;
    } cases[] = {
        {STEP "compile" LIB("re/__init__.py") " > compile" LIB("re/_compiler.py"),
         ". Python's re compiles patterns for 75% of its CPU time: its cache holds 512; keep what "
         "re.compile() returns."},
        {STEP "compile" LIB("re.py") " > compile" LIB("sre_compile.py"), "compiles patterns for"},
        {STEP "deepcopy" LIB("copy.py") " > _deepcopy_dict" LIB("copy.py"), "copy.deepcopy() runs"},
        {STEP "stack" LIB("inspect.py") " > getframeinfo" LIB("inspect.py"), "sys._getframe(1)"},
        {STEP "dumps" LIB("json/__init__.py") " > _make_iterencode.<locals>._iterencode_dict" LIB(
             "json/encoder.py"),
         "its encoder in C"},
        {STEP "0x7f0010!_multiprocessing.cpython-311-x86_64-linux-gnu.so", "Locks of multip"},
        {"step!app > __isoc99_sscanf!libc.so.6 > strlen!libc.so.6",
         "strtod() and strtol() stop after"},
        {"step!app > scan!app > __fstatat64!libc.so.6", "inotify tells of changes"},
        {"step!app > serve!app > __poll!libc.so.6", "poll() runs for 75% of its CPU time: a"},
        {"step!app > serve!app > epoll_wait!libc.so.6", "its other end has closed"},
        {STEP "select!libc.so.6", "its time-out is 0"},
        {STEP "close!libc.so.6", "close() runs for"},
        {STEP "fork!libc.so.6", "fork() runs for 75% of its CPU time: it copies the page tables"},
        {"step!app > __libc_fork!libc.so.6 > _Fork!libc.so.6", "Popen without preexec_fn"},
        {"step!app > parse!app > __cxa_throw!libstdc++.so.6 > _Unwind_RaiseException!libgcc_s.so.1",
         "C++ throws exceptions for 75% of its CPU time: each walks the stack twice"},
        {STEP "_ProtocolMeta.__instancecheck__" LIB("typing.py"), "a base class takes one look"},
        {"step!app > rate!app > getrusage!libc.so.6", "getrusage() runs for 75% of its CPU time"},
        {"step!app > draw!app > rand!libc.so.6", "rand() runs for 75% of its CPU time: it takes"},
        {"step!app > count!app > ___pthread_mutex_lock!libc.so.6", "hold one for several steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_known(cases[i].stack, 3000, cases[i].words);
}
END_TEST

START_TEST(what_is_known_to_be_slow_of_packages_is_told)
{
    static const struct {
        const char *stack, *words;
    } cases[] = {
        {STEP "text" LIB("site-packages/requests/models.py") " > from_bytes" LIB(
             "site-packages/charset_normalizer/api.py"),
         "set response.encoding"},
        {STEP "LazyLoader._emit_lazyload" LIB("site-packages/sqlalchemy/orm/strategies.py"),
         "options(selectinload(…)) loads those of all objects"},
        {STEP "ForwardManyToOneDescriptor.get_object" LIB(
             "site-packages/django/db/models/fields/related_descriptors.py"),
         "select_related() loads those"},
        {STEP "snapshot" LIB("site-packages/watchdog/utils/dirsnapshot.py"),
         "the kernel tells Obs"},
        {STEP "_log" LIB("logging/__init__.py") " > write!libc.so.6",
         "none is made below the level"},
        {"step!app > std::vector<double, std::allocator<double> >::operator[]!app",
         "-O2 (CMAKE_BUILD_TYPE=Release) inlines them"},
        {"step!app > <core::ops::range::Range<T> as "
         "core::iter::range::RangeIteratorImpl>::next!app",
         "cargo build --release inlines them"},
        {STEP "scan" LIB("site-packages/yaml/scanner.py"), "yaml.CSafeLoader does that in C"},
        {STEP "_union_schema" LIB("site-packages/pydantic/_internal/_generate_schema.py"),
         "pydantic builds schemas"},
        {STEP "Session.create_client" LIB("site-packages/botocore/session.py"), "used by all"},
        {STEP "HTMLParser.goahead" LIB("html/parser.py"), "lxml does that in C"},
        {STEP "Environment.compile" LIB("site-packages/jinja2/environment.py"), "Jinja compiles"},
        {STEP "iterrows" LIB("site-packages/pandas/core/frame.py"), "itertuples()"},
        {STEP "apply_series_generator" LIB("site-packages/pandas/core/apply.py"), "whole columns"},
        {STEP "_strptime" LIB("_strptime.py"), "datetime.fromisoformat() is in C"},
        {STEP "entry_points" LIB("importlib/metadata/__init__.py"), "keep the result"},
        {STEP "_Pickler.save" LIB("pickle.py"), "pickle.Pickler is in C"},
        {STEP "_Unpickler.load" LIB("pickle.py"), "pickle.Unpickler is in C"},
        {STEP "literal_eval" LIB("ast.py"), "json.loads() is in C"},
        {STEP "add" LIB("_pydecimal.py"), "built without _decimal"},
        {STEP "parse" LIB("site-packages/dateutil/parser/_parser.py"), "knows its format"},
        {STEP "append" LIB("site-packages/numpy/lib/function_base.py"), "a list, made an array"},
        {STEP "append" LIB("site-packages/numpy/lib/_function_base_impl.py"), "a list, made an"},
        {STEP "vectorize._vectorize_call" LIB("site-packages/numpy/lib/function_base.py"),
         "loop in"},
        {STEP "ssl_wrap_socket" LIB("site-packages/urllib3/util/ssl_.py"), "requests.Session()"},
        {STEP
         "create.<locals>.Validator.check_schema" LIB("site-packages/jsonschema/validators.py"),
         "a validator that is kept"},
        {"step!app > draw!app > __random!libc.so.6", "random_r()"},
        {STEP "mean" LIB("statistics.py") " > _sum" LIB("statistics.py"), "fmean() adds floats"},
        {STEP "sniff" LIB("csv.py") " > sre_ucs1_match!libpython3.11.so.1.0",
         "csv.Sniffer guesses a dialect for 75%"},
        {STEP "bounded_lru_cache_wrapper!libpython3.11.so.1.0 > describe@/src/b.py:1:2",
         "lru_cache calls its function for 75% of its CPU time: it does so for what is not in"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_known(cases[i].stack, 3000, cases[i].words);
}
END_TEST

START_TEST(what_is_known_to_be_slow_of_native_code_is_told)
{
    static const struct {
        const char *stack, *words;
    } cases[] = {
        {"step!app > cudaMemcpyAsync!app > cuMemcpyDtoHAsync_v2!libcuda.so.1 > memcpy!libc.so.6",
         "CUDA's copies run for 75%"},
        {"step!app > find!app > "
         "std::_Hashtable<int>::_M_find_before_node!app|/usr/include/c++/12/a.h:3",
         "walks lists of its buckets for 75%"},
        {"step!app > turn!app > std::_Hashtable<int, int>::clear!app|/usr/include/c++/12/a.h:3 > "
         "memset!libc.so.6",
         "buckets, which stay as many as there ever were"},
        {"step!app > append!app > std::vector<int>::reserve!app|/usr/include/c++/12/vector.tcc:9",
         "takes away the doubling: reserve once for all"},
        {"step!app > keep!app > malloc_trim!libc.so.6", "a call now and then is enough"},
        {"step!app > publish!app > "
         "std::_Function_handler<void (int), act>::_M_manager!app|/usr/include/c++/12/b.h:3",
         "objects are copied and destroyed for 75%"},
        {STEP "at::native::_local_scalar_dense_cuda!/opt/conda/lib/libtorch_cuda.so > "
              "cudaMemcpyAsync!/opt/conda/lib/libcudart.so.12 > cuMemcpyDtoHAsync_v2!libcuda.so.1",
         "PyTorch's item() waits for the GPU for 75%"},
        {"relu!app > cudaFree!app > cuMemFree_v2!libcuda.so.1 > ioctl!libc.so.6",
         "PyTorch's cache"},
        {"add!app > cudaLaunchKernel!app > libcudart_static_41db!app > "
         "cuLaunchKernel_ptsz!libcuda.so.1",
         "75% of its CPU time: of many small ones"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_known(cases[i].stack, 3000, cases[i].words);
}
END_TEST

/* Who copies to new memory takes faults by that; those of another function are told. */
START_TEST(slow_code_is_told_and_not_its_page_faults)
{
    for (int slow = 0; slow <= 1; slow++) {
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        builder_run(&b, lead, "step!app > cuMemcpyDtoHAsync_v2!libcuda.so.1 > memcpy!libc.so.6",
                    3000, 3000);
        builder_run(&b, lead, "fill!app > memset!libc.so.6", 1000, 1000);
        struct profile_thread *t = profile_get_thread(b.p, lead);
        t->runs[!slow].weights.events.near_faults = 1000;
        t->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS,
                                          .user_ns = 1680L * NS_PER_MS,
                                          .system_ns = 2320L * NS_PER_MS,
                                          .minor_faults = 292000};
        judge(4000);
        ck_assert(is_said("CUDA's copies run for 75%"));
        ck_assert_int_eq(is_said("minor page faults a second, 100% of them in memset"), !slow);
        teardown();
    }
}
END_TEST

/* Two findings are about the same work: its faults, and that it computes. */
START_TEST(slow_code_is_told_once)
{
    int told = 0;
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "step!app > draw!app > rand!libc.so.6", 3000, 3000);
    builder_run(&b, lead, "fill!app > memset!libc.so.6", 1000, 1000);
    struct profile_thread *t = profile_get_thread(b.p, lead);
    t->runs[1].weights.events.near_faults = 1000;
    t->usage = (struct profile_usage){.over_ns = 4000L * NS_PER_MS,
                                      .user_ns = 1680L * NS_PER_MS,
                                      .system_ns = 2320L * NS_PER_MS,
                                      .minor_faults = 292000};
    judge(4000);
    ck_assert(is_said("minor page faults a second") && is_said("main computes"));
    for (size_t i = 0; i < found.n_printed; i++)
        told += strstr(found.printed[i]->words, "rand() runs for 75%") != NULL;
    ck_assert_int_eq(told, 1);
    teardown();
}
END_TEST

/* A sentence of a sleep is none of a write that blocks. */
START_TEST(a_library_that_sleeps_is_told_for_its_sleeps)
{
#define SEND STEP "spawn.send" LIB("site-packages/pexpect/pty_spawn.py") " > "
    static const char *const calls[] = {"write /dev//ptmx [blocked]", "clock_nanosleep [blocked]"};
    for (int sleeps = 0; sleeps <= 1; sleeps++) {
        struct text stack = {0};
        text_addf(&stack, "%s%s", SEND, calls[sleeps]);
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        builder_run(&b, lead, stack.s, 3900, 0);
        builder_run(&b, lead, "step@/src/a.py:1:2", 100, 100);
        judge(4000);
        ck_assert_int_eq(is_said("pexpect sleeps there before it sends"), sleeps);
        teardown();
        text_release(&stack);
    }
}
END_TEST

/* Also of whom others wait for. */
START_TEST(what_is_slow_of_others_is_told)
{
    for (int64_t ms = 400; ms <= 4000; ms += 3600) {
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        thread_id other = builder_thread(&b, 11, "intake");
        builder_run(&b, lead, "main!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 4000, 0);
        builder_run(&b, other, STEP "deepcopy" LIB("copy.py"), ms, ms);
        builder_run(&b, other, STEP "ioctl /dev/x [blocked]", 4000 - ms, 0);
        judge(4000);
        assert_told(0, "waits_meanwhile", "Meanwhile intake is ");
        const char *said = found.printed[0]->words;
        const char *slow = strstr(said, "copy.deepcopy() runs for 100% of intake's CPU time: it");
        ck_assert_msg((slow != NULL) == (ms == 4000), "%s", said);
        teardown();
    }
}
END_TEST

/* It takes little; C encodes; a queue's lock; a module does so once; the user's file. */
START_TEST(what_is_not_slow_or_done_once_is_not_told)
{
    static const char *const others[] = {
        STEP "mean@/src/app/statistics.py:1:2",
        STEP "getrandom!libc.so.6",
        STEP "take_gil!python3.11 > ___pthread_mutex_lock!libc.so.6",
        STEP "deepcopy@/src/app/copy.py:1:2",
        STEP "deepcopy" LIB("site-packages/tree/copy.py"),
        STEP "parse" LIB("site-packages/ruamel/yaml/scanner.py"),
        STEP "scan@/src/app/yaml/scanner.py:1:2",
        "step!app > sscanf!/opt/a/libcsv.so > parse!/opt/a/libcsv.so",
    };
    assert_known(STEP "deepcopy" LIB("copy.py"), 700, NULL);
    assert_known(STEP "JSONEncoder.encode" LIB("json/encoder.py"), 3000, NULL);
    assert_known(STEP
                 "Queue.get" LIB("multiprocessing/queues.py") " > 0x7f0010!_multiprocessing.so",
                 3000, NULL);
    assert_known("_load@<frozen importlib._bootstrap>:1:2 > <module>@/src/b.py:1:2 > compile" LIB(
                     "re/_compiler.py"),
                 1500, NULL);
    assert_known(STEP "deepcopy@/src/tree.py:1:2", 3000, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_known(others[i], 3000, NULL);
}
END_TEST

/* In 4 s. */
START_TEST(many_calls_are_told_with_their_size)
{
    static const struct {
        struct profile_usage usage;
        const char *words; /* NULL: they are few */
    } cases[] = {
        {{.reads = 300000, .read_bytes = 300000}, NULL},
        {{.reads = 2100000, .read_bytes = 2100000},
         " It makes 525,000 reads a second, of 1 byte each on average: for a file, use a buffer."},
        {{.reads = 2100000, .read_bytes = UINT64_C(2100000) * 65536},
         " It makes 525,000 reads a second, of 65536 bytes each on average."},
        {{.reads = 2100000}, " It makes 525,000 reads a second, most of which return nothing."},
        {{.writes = 2100000, .written_bytes = 168000000},
         " It makes 525,000 writes a second, of 80 bytes each on average: for a file, use a "
         "buffer."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        builder_run(&b, lead, "copy_line!app > read!libc.so.6", 4000, 4000);
        profile_get_thread(b.p, lead)->usage = cases[i].usage;
        judge(4000);
        if (cases[i].words)
            assert_told(0, "computes", cases[i].words);
        else
            ck_assert_ptr_null(strstr(found.printed[0]->words, " a second"));
        teardown();
    }
}
END_TEST

/* A transaction for each row. */
START_TEST(a_sync_of_sqlite_is_told_to_be_a_transactions)
{
    static const char *const stacks[] = {
        STEP "sqlite3PagerCommitPhaseOne!libsqlite3.so.0 > fdatasync /data/a.db [blocked]",
        STEP "_mdb_txn_commit!cpython.so > mdb09_env_sync!cpython.so > fdatasync /data/a.db "
             "[blocked]",
        STEP "fdatasync /data/a.db [blocked]",
        STEP "sqlite3WalCheckpoint!libsqlite3.so.0 > walCheckpoint!libsqlite3.so.0 > "
             "sqlite3OsSync!libsqlite3.so.0 > fdatasync /data/a.db [blocked]"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        builder_run(&b, lead, stacks[i], 3000, 0);
        builder_run(&b, lead, "step@/src/a.py:1:2", 1000, 1000);
        judge(4000);
        assert_told(0, "slow_files", "main spends 75% of its time syncing /data/a.db");
        ck_assert(!strstr(found.printed[0]->words,
                          " Each transaction is synced: put many rows into one.") == (i > 1));
        teardown();
    }
}
END_TEST

/* What goes on around the calls is the same function's. */
START_TEST(who_syncs_is_told_with_all_of_its_time)
{
    for (int64_t ms = 200; ms <= 1000; ms += 800) {
        b = builder_start(10, "app");
        thread_id lead = builder_thread(&b, 10, NULL);
        builder_run(&b, lead, "save@/src/a.py:1:2 > fdatasync!libc.so.6 > fdatasync /x/a [blocked]",
                    2600, 0);
        builder_run(&b, lead, "save@/src/a.py:1:2 > pack" LIB("json/encoder.py"), ms, ms);
        builder_run(&b, lead, "think@/src/a.py:5:6", 1400 - ms, 1400 - ms);
        judge(4000);
        const char *all =
            strstr(found.printed[0]->words, "In all save a.py:2 takes 90% of its time.");
        ck_assert_str_eq(found.printed[0]->rule, "slow_files");
        ck_assert((all != NULL) == (ms == 1000));
        teardown();
    }
}
END_TEST

/* A library's function stands between; the line is the one with most of the time there. */
START_TEST(who_calls_what_many_call_is_named)
{
    static const struct {
        const char *caller;
        int64_t ms;
    } calls[] = {{"sell@/src/a.py:1:12", 1000},
                 {"sell@/src/a.py:1:13", 600},
                 {"buy@/src/a.py:20:30", 900},
                 {"lend@/src/a.py:40:41", 700},
                 {"rest@/src/a.py:50:51", 600}};
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct text stack = {0};
        text_addf(&stack, "%s > dumps%s > encode%s", calls[i].caller, LIB("json/__init__.py"),
                  LIB("json/encoder.py"));
        builder_run(&b, lead, stack.s, calls[i].ms, calls[i].ms);
        text_release(&stack);
    }
    builder_run(&b, lead, "add_up@/src/a.py:60:61", 200, 200);
    judge(4000);
    assert_told(0, "computes", "95% in dumps (called by sell a.py:12, buy a.py:30 and 2 others).");
    teardown();
}
END_TEST

START_TEST(rows_with_the_same_words_are_told_as_one)
{
    b = builder_start(10, "app");
    thread_id lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "step!app > std::vector<int>::operator[]!app", 600, 600);
    builder_run(&b, lead, "step!app > std::forward<int&>!app", 600, 600);
    builder_run(&b, lead, "step!app", 2800, 2800);
    judge(4000);
    assert_told(0, "computes", "called one by one for 30% of its CPU time");
    teardown();
}
END_TEST

CHECK_MAIN("findings_slow_code", 20, slow_code_is_told_and_not_its_page_faults,
           slow_code_is_told_once, a_library_that_sleeps_is_told_for_its_sleeps,
           what_is_known_to_be_slow_of_native_code_is_told, what_is_slow_of_others_is_told,
           what_is_known_to_be_slow_of_packages_is_told, rows_with_the_same_words_are_told_as_one,
           who_syncs_is_told_with_all_of_its_time, who_calls_what_many_call_is_named,
           what_is_known_to_be_slow_is_told, many_calls_are_told_with_their_size,
           a_sync_of_sqlite_is_told_to_be_a_transactions, what_is_not_slow_or_done_once_is_not_told)
