#include "worker/target_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/minmax.h"
#include "base/text.h"
#include "pyframes/py_capture.h"
#include "pyframes/py_internal.h"
#include "target/command_line.h"
#include "target/proc.h"
#include "worker/recording_metadata.h"

enum {
    MAPS_EVERY_MS = 1000,  /* dlopen without a call into it yet */
    MAPS_SOON_MS = 20,     /* a pc outside all known mappings; at first, and when modules came */
    MAPS_PENDING_MS = 100, /* a runtime that is not initialised */
    DOUBT_MS = 500,
    CATCH_UP_SHARE = 10,  /* reading them at once may take one part of so many */
    VERSION_TRIES = 8,    /* each looks through the interpreter's variables */
    OBJECTS_EVERY_MS = 1, /* objects of JIT compilers; new code is looked for when it is met */
};

/* ---- Python ---- */

static void refuse_python(struct target_process *s)
{
    s->python_refused = true;
    profile_get_process(s->profile, s->id)->python_note = profile_string(s->profile, s->doubt.text);
    log_warn("unknown python", "%s: native stacks only.", s->doubt.text);
}

/* An interpreter that is just being loaded or started may look like one that is not known: only one
 * that still does after a while is refused. */
static void doubt_python(struct target_process *s, const struct err *why)
{
    int64_t now_ns = clock_now_ns();
    if (!s->doubted_ns)
        s->doubted_ns = now_ns;
    s->doubt = *why;
    s->python_pending = now_ns - s->doubted_ns < (int64_t)DOUBT_MS * NS_PER_MS;
    if (!s->python_pending)
        refuse_python(s);
}

static void set_version(struct target_process *s, const struct py_runtime *runtime)
{
    profile_get_process(s->profile, s->id)->python_version =
        profile_string(s->profile, py_runtime_version(runtime));
}

/* Its frames of stacks that were taken before it was known. */
static void flag_interpreter(struct target_process *s)
{
    for (uint32_t i = 1; i <= profile_frame_count(s->profile); i++) {
        const struct frame *f = profile_get_frame(s->profile, (frame_id){i});
        if (f->kind != FRAME_NATIVE || !f->native.module.ix)
            continue;
        uint64_t addr = f->native.offset + profile_get_module(s->profile, f->native.module)->bias;
        struct module *module = modules_find(s->modules, addr);
        uint64_t id;
        uint32_t flags = py_runtime_frame_flags(s->python->runtime, addr);
        if (flags & ~f->flags && module && map_get(&s->module_ids, module->id, &id) &&
            id == f->native.module.ix)
            profile_flag_frame(s->profile, (frame_id){i}, flags);
    }
}

/* The maps changed, or a runtime was found that was not ready: is there a Python now? */
static void seek_python(struct target_process *s)
{
    struct py_runtime *runtime = NULL;
    struct err err = {0};
    int r = py_runtime_find(&runtime, s->modules, s->live, &err);
    s->python_pending = r == -EAGAIN;
    if (r == -ENOTSUP)
        doubt_python(s, &err);
    else
        s->doubted_ns = 0;
    if (r < 0)
        return;
    s->python = python_new(s, runtime);
    flag_interpreter(s);
    set_version(s, runtime);
    sampler_set_hook(s->sampler, s->number, &s->python->hook);
}

/* A large program that has no Python takes tens of milliseconds to look through, and its maps may
 * change all the time.  So the search runs at once where a module came, or one is not ready yet,
 * and otherwise for a hundredth of the time. */
static void seek_python_again(struct target_process *s)
{
    enum { SHARE = 100 };
    size_t n = modules_count(s->modules);
    if (s->python_pending || n != s->sought_modules)
        s->seeking.due_ns = 0;
    if (!duty_cycle_begin(&s->seeking))
        return;
    s->sought_modules = n;
    seek_python(s);
    duty_cycle_end(&s->seeking, SHARE, 0);
}

/* asyncio is loaded when the program imports it. */
static void seek_tasks(struct target_process *s)
{
    struct python *python = s->python;
    if (!py_tasks_possible(python->runtime))
        log_warn("no tasks", "CPython %s does not tell which task runs: --tasks needs 3.14.",
                 py_runtime_version(python->runtime));
    else if (py_tasks_find(&python->tasks, python->runtime, s->modules, s->live) == 0)
        py_capture_tasks(python->capture, python->tasks);
}

/* ---- the process ---- */

/* Processes are added parents first; the last one with a pid has it now. */
static process_id parent_of(const struct profile *p, pid_t pid)
{
    struct task_stat stat;
    if (proc_stat(pid, 0, &stat) < 0)
        return (process_id){0};
    uint32_t i = profile_process_count(p);
    while (i && profile_see_process(p, (process_id){i})->pid != stat.ppid)
        i--;
    return (process_id){i};
}

int target_process_open(struct target_process **ret, pid_t pid, uint64_t start_ticks,
                        const struct target_shared *shared, struct err *err)
{
    struct mem *live = NULL;
    int r = mem_live_open(&live, pid, err);
    if (r == 0)
        r = sampler_add(shared->sampler, pid, start_ticks, live, err);
    if (r < 0) {
        mem_free(live);
        return r;
    }
    struct target_process *s = xcalloc(1, sizeof *s);
    s->pid = pid;
    s->sampler = shared->sampler;
    s->number = (uint32_t)r;
    s->profile = shared->profile;
    s->scratch = shared->scratch;
    s->codes = shared->codes;
    s->live = live;
    s->modules = modules_new(pid, live);
    modules_share(s->modules, shared->files);
    s->unwinder = unwinder_new(s->modules);
    if (shared->stacks)
        unwinder_share(s->unwinder, shared->stacks);
    s->symbolizer = symbolizer_new(s->profile, pid);
    symbolizer_set_internal(s->symbolizer,
                            (struct internal_functions){.of_interpreter = py_is_internal,
                                                        .of_jit = py_is_jit_internal,
                                                        .of_program = py_is_embedded_internal});
    const struct profile_process process = {.pid = pid, .parent = parent_of(s->profile, pid)};
    s->id = profile_process(s->profile, &process);
    target_process_describe(s);
    *ret = s;
    return 0;
}

/* How long the maps may go unread.  A reading takes 0.3 ms with CPython, several with torch, 30
 * with 50,000 mappings. */
static int64_t maps_interval_ns(const struct target_process *s)
{
    int64_t most_ms = s->python_pending ? MAPS_PENDING_MS : MAPS_EVERY_MS;
    int64_t ms = s->maps_wait_ms < most_ms ? s->maps_wait_ms : most_ms;
    int64_t ns = (unwinder_wants_maps(s->unwinder) ? MAPS_SOON_MS : ms) * NS_PER_MS;
    return max_i64(ns, s->maps_pause_ns);
}

/* A program that loads modules, as at its start, soon loads more. */
static void choose_maps_interval(struct target_process *s)
{
    uint32_t generation = modules_generation(s->modules);
    bool more = generation != s->modules_generation || s->maps_wait_ms == 0;
    s->modules_generation = generation;
    s->maps_wait_ms = more ? MAPS_SOON_MS : s->maps_wait_ms * 2;
    if (s->maps_wait_ms > MAPS_EVERY_MS)
        s->maps_wait_ms = MAPS_EVERY_MS;
}

/* Other code may be at an address from now on. */
static void code_changed(struct target_process *s)
{
    unwinder_maps_changed(s->unwinder);
    map_clear(&s->frame_ids);
}

/* The maps were read since BEGAN_NS; the worker had used CPU_NS by then.  The pause that follows is
 * a share of the CPU time: by the wall clock a worker that lost its CPU would not know the code of
 * a new program for a long time. */
static void note_cost(struct target_process *s, int64_t began_ns, int64_t cpu_ns)
{
    s->maps_took_ns = clock_now_ns() - began_ns;
    s->maps_pause_ns = max_i64((clock_cpu_ns() - cpu_ns) * CATCH_UP_SHARE, s->maps_took_ns);
}

/* Returns whether they have changed. */
static bool read_maps(struct target_process *s, int64_t now_ns)
{
    int64_t cpu_ns = clock_cpu_ns();
    s->maps_read_ns = now_ns;
    int r = modules_refresh(s->modules);
    if (r < 0 && r != -ESRCH)
        log_warn("maps", "cannot read the maps of %d: %s", s->pid, strerror(-r));
    if (r < 0)
        return false; /* its known facts stay */
    choose_maps_interval(s);
    uint32_t generation = modules_maps(s->modules)->generation;
    bool changed = generation != s->maps_generation;
    s->maps_generation = generation;
    if (changed)
        code_changed(s);
    else
        unwinder_maps_same(s->unwinder);
    note_cost(s, now_ns, cpu_ns);
    bool wanted = !s->python && !s->no_python && !s->python_refused;
    if (wanted && (changed || s->python_pending))
        seek_python_again(s);
    if (s->python && s->python->version_tries < VERSION_TRIES) {
        s->python->version_tries++;
        if (py_runtime_find_patch_level(s->python->runtime, s->modules, s->live))
            set_version(s, s->python->runtime);
    }
    if (wanted && !s->python) /* it will take as long again */
        note_cost(s, now_ns, cpu_ns);
    if (s->want_tasks && changed && s->python && !s->python->tasks)
        seek_tasks(s);
    rank_look(s);
    return changed;
}

static void refresh_objects(struct target_process *s, int64_t now_ns)
{
    if (now_ns - s->objects_read_ns < (int64_t)OBJECTS_EVERY_MS * NS_PER_MS)
        return;
    s->objects_read_ns = now_ns;
    uint32_t generation = modules_refresh_objects(s->modules);
    if (generation != s->objects_generation)
        code_changed(s);
    s->objects_generation = generation;
    if (symbolizer_jit_changed(s->symbolizer))
        map_clear(&s->frame_ids);
}

void target_process_refresh(struct target_process *s, int64_t now_ns)
{
    s->heard_ns = now_ns;
    if (!s->unwinder)
        return;
    refresh_objects(s, now_ns);
    if (!s->maps_read_ns || now_ns - s->maps_read_ns >= maps_interval_ns(s))
        (void)read_maps(s, now_ns);
}

static bool leads_through_another(const struct target_process *s, const struct native_stack *stack,
                                  int64_t taken_ns)
{
    for (size_t i = 0; i < stack->n; i++)
        if (modules_replaced(s->modules, stack->frames[i].pc - stack->frames[i].is_call, taken_ns))
            return true;
    return false;
}

bool target_process_catch_up(struct target_process *s, const struct native_stack *stack,
                             int64_t taken_ns)
{
    int64_t now_ns = clock_now_ns();
    int64_t pause_ns = now_ns - s->maps_read_ns;
    if (pause_ns >= s->maps_took_ns && leads_through_another(s, stack, taken_ns))
        return read_maps(s, now_ns);
    return unwinder_wants_maps(s->unwinder) && pause_ns >= s->maps_pause_ns &&
           !unwinder_settle_unmapped(s->unwinder, s->pid) && read_maps(s, now_ns);
}

bool target_process_is_behind(const struct target_process *s, const struct native_stack *stack)
{
    for (size_t i = 0; unwinder_wants_maps(s->unwinder) && i < stack->n; i++) {
        const struct mapping *m =
            maps_find(modules_maps(s->modules), stack->frames[i].pc - stack->frames[i].is_call);
        if (!m || !(m->prot & PROT_EXEC))
            return true;
    }
    return false;
}

void target_process_conclude(struct target_process *s)
{
    if (s->doubted_ns && !s->python_refused)
        refuse_python(s);
}

/* The present one's hook may be in use until the sampler's next tick, and a sampler that lags
 * behind, or a worker that does, may be many messages away from it.  But an execve is noticed at
 * the beginning of a tick, when no hook is in use, and ends all threads that were sampled with one:
 * runtimes that were retired before that can go. */
static void retire_python(struct target_process *s, int64_t noticed_ns)
{
    struct python **old = &s->old_pythons;
    while (*old && (*old)->retired_ns >= noticed_ns)
        old = &(*old)->older;
    *old = python_free(*old);
    if (!s->python)
        return;
    /* Set between the execve and the sampler's noticing it, it would stay. */
    sampler_drop_hook(s->sampler, s->number, &s->python->hook);
    s->python->retired_ns = clock_now_ns();
    s->python->older = s->old_pythons;
    s->old_pythons = s->python;
    s->python = NULL;
}

void target_process_exec(struct target_process *s, int64_t noticed_ns)
{
    s->seeking.due_ns = 0;
    retire_python(s, noticed_ns);
    modules_exec(s->modules);
    symbolizer_exec(s->symbolizer);
    code_changed(s);
    s->maps_read_ns = s->maps_wait_ms = 0;
    s->python_pending = s->python_refused = false;
    s->doubted_ns = 0;
    s->execed_ns = noticed_ns;
    s->rank = (struct rank_watch){0};
    target_process_describe(s);
}

/* The kernel's name has 15 bytes.  A program with a longer title has it in place of the command
 * line: "gunicorn: worker [app]". */
void target_process_call(struct target_process *s, string_id comm)
{
    const char *name = profile_text(s->profile, comm);
    struct text line = {0};
    if (comm.ix == s->called.ix || !*name)
        return;
    s->called = comm;
    if (strlen(name) == TASK_COMM_BYTES - 1)
        command_line_of(s->pid, &line);
    /* A program's name ends with its first argument's; a title may be several words. */
    bool quoted = line.len > 2 && line.s[0] == '\'' && line.s[line.len - 1] == '\'';
    const char *title = line.s ? line.s + quoted : "";
    size_t len = strlen(title) - quoted;
    if (!strpbrk(name, " :"))
        len = strcspn(title, " ");
    bool longer = line.len && str_starts(title, name);
    profile_get_process(s->profile, s->id)->title =
        longer ? profile_string_n(s->profile, title, len) : comm;
    text_release(&line);
}

void target_process_describe(struct target_process *s)
{
    struct profile_process *process = profile_get_process(s->profile, s->id);
    char comm[TASK_COMM_BYTES];
    struct text line = {0};
    command_line_of(s->pid, &line);
    if (line.len)
        process->command = profile_string(s->profile, line.s);
    if (proc_read_comm(s->pid, 0, comm) >= 0)
        process->comm = profile_string(s->profile, comm);
    text_release(&line);
    target_process_call(s, process->comm);
    string_id environment;
    if (metadata_environment(s->profile, s->pid, &environment))
        profile_get_process(s->profile, s->id)->environment = environment;
}

/* ---- frames ---- */

static module_id module_id_of(struct target_process *s, struct module *module)
{
    uint64_t known;
    if (map_get(&s->module_ids, module->id, &known))
        return (module_id){(uint32_t)known};
    struct elf_file *elf = module_elf(s->modules, module);
    struct text build_id = {0};
    const struct build_id *id = elf ? elf_file_build_id(elf) : NULL;
    for (size_t i = 0; id && i < id->len; i++)
        text_addf(&build_id, "%02x", id->bytes[i]);
    module_id ret = profile_module(
        s->profile,
        &(struct profile_module){
            .name = profile_string(s->profile, module->name),
            .path = profile_string(s->profile, module->path),
            .build_id = build_id.len ? profile_string(s->profile, build_id.s) : (string_id){0},
            .file = elf && !build_id.len ? elf_file_identity(elf) : 0,
            .bias = elf ? module->bias : module->start,
        });
    text_release(&build_id);
    map_put(&s->module_ids, module->id, ret.ix);
    symbolizer_add_module(s->symbolizer, ret, s->modules, module);
    return ret;
}

/* Where F is, by its module. */
static void place_frame(struct target_process *s, const struct native_frame *f,
                        struct module *module, struct frame *frame)
{
    frame->native.module = module_id_of(s, module);
    uint64_t bias = profile_get_module(s->profile, frame->native.module)->bias;
    frame->native.offset -= bias;
    uint64_t function = f->function ? f->function : f->begin;
    frame->native.function = function ? function - bias : 0;
}

static uint32_t flags_of(const struct target_process *s, const struct native_frame *f,
                         uint64_t addr, bool is_jit)
{
    uint32_t flags = f->trust == FRAME_GUESSED ? FRAME_IS_GUESSED : 0;
    uint32_t of_module = s->python ? py_runtime_frame_flags(s->python->runtime, addr) : 0;
    if (of_module)
        return flags | of_module;
    return s->python && is_jit ? flags | FRAME_IS_JIT : flags;
}

frame_id target_process_native_frame(struct target_process *s, const struct native_frame *f,
                                     const char *otherwise)
{
    uint64_t addr = f->pc - f->is_call;
    uint64_t known;
    bool cacheable = f->trust != FRAME_GUESSED;
    if (cacheable && map_get(&s->frame_ids, addr, &known))
        return (frame_id){(uint32_t)known};
    struct frame frame = {.kind = FRAME_NATIVE, .native.offset = addr};
    struct module *module = modules_find(s->modules, addr);
    bool has_file = module && module_elf(s->modules, module);
    if (module)
        place_frame(s, f, module, &frame);
    if (!has_file)
        frame.native.name = symbolizer_jit_name(s->symbolizer, addr);
    if (!has_file && !frame.native.name.ix && otherwise)
        frame.native.name = profile_string(s->profile, otherwise);
    frame.flags = flags_of(s, f, addr, !has_file || module->jit);
    uint32_t before = profile_frame_count(s->profile);
    frame_id ret = profile_frame(s->profile, &frame);
    if (!has_file && ret.ix > before)
        symbolizer_add_jit_frame(s->symbolizer, ret, addr);
    if (cacheable)
        map_put(&s->frame_ids, addr, ret.ix);
    return ret;
}

struct wait_target target_process_for_waits(struct target_process *s)
{
    return (struct wait_target){.pid = s->pid,
                                .live = s->live,
                                .modules = s->modules,
                                .mounts = &s->mounts,
                                .python = s->python ? s->python->runtime : NULL};
}

void target_process_end(struct target_process *s)
{
    target_process_conclude(s);
    s->unwound = *unwinder_counters(s->unwinder);
    s->unwinder = unwinder_free(s->unwinder);
    s->python = python_free(s->python);
    s->old_pythons = python_free(s->old_pythons);
    mounts_release(&s->mounts);
    map_release(&s->module_ids);
    map_release(&s->frame_ids);
}

const struct unwind_counters *target_process_unwound(const struct target_process *s)
{
    return s->unwinder ? unwinder_counters(s->unwinder) : &s->unwound;
}

struct target_process *target_process_free(struct target_process *s)
{
    if (!s)
        return NULL;
    python_free(s->python);
    python_free(s->old_pythons);
    symbolizer_free(s->symbolizer);
    unwinder_free(s->unwinder);
    modules_free(s->modules);
    mem_free(s->live);
    mounts_release(&s->mounts);
    map_release(&s->module_ids);
    map_release(&s->frame_ids);
    free(s);
    return NULL;
}
