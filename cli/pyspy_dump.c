#include "cli/pyspy_dump.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/dump_forms.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "dump/thread.h"
#include "exporter/json.h"
#include "pyframes/py_capture.h"
#include "summary/python_module.h"
#include "target/command_line.h"
#include "target/package_path.h"
#include "target/proc.h"
#include "worker/process_set.h"

enum { RULE_COLUMNS = 80 }; /* between processes, as where the output is no terminal */

struct spied { /* a thread as py-spy shows it */
    const struct dump_thread *t;
    bool python, active, gil;
    uint64_t id; /* Python's, its pthread_t; of a thread that runs no Python its tid */
    char *name;  /* NULL: Python gave it none */
};

struct family {        /* a process of the dump */
    pid_t pid, parent; /* PARENT: 0: it is not in the dump */
    bool python, written;
    const struct dump_thread *threads;
    size_t n;
};

struct pyspy {
    struct dump *d;
    const struct process_set *processes;
    const struct options *o;
    struct family *families;
    size_t n_families, capacity;
    struct package_paths packages; /* of the process that is written */
    bool begun;                    /* one has been written */
    struct json json;
    struct text text;
};

/* ---- threads ---- */

static const struct profile_thread *thread_of(const struct pyspy *p, const struct dump_thread *t)
{
    return profile_see_thread(p->d->profile, t->thread);
}

/* Finds Python's id and name of S.  False: it runs no Python, or it has ended. */
static bool ask_python(const struct pyspy *p, struct spied *s)
{
    struct text name = {0};
    struct task_status status;
    const struct target_process *process =
        process_set_find(p->processes, thread_of(p, s->t)->process);
    if (!process || !process->python || proc_status(s->t->pid, s->t->tid, &status) < 0 ||
        !py_capture_knows(process->python->capture, status.ns_tid, &s->id))
        return false;
    if (py_thread_names_ask(process->python->names, s->id, &name) == 0)
        s->name = name.s;
    else
        text_release(&name);
    return true;
}

static struct spied spy(const struct pyspy *p, const struct dump_thread *t)
{
    const struct profile_thread *thread = thread_of(p, t);
    struct spied s = {.t = t,
                      .active = t->state != THREAD_BLOCKED && t->state != THREAD_STOPPED,
                      .gil = t->gil.gil == PY_GIL_HOLDING,
                      .id = (uint64_t)t->tid};
    s.python = ask_python(p, &s) || thread->python;
    if (!s.python && thread->name.ix)
        s.name = xstrdup(profile_text(p->d->profile, thread->name));
    return s;
}

/* Fills RET with F's threads, those that run Python first; returns how many.  The caller frees
 * their names. */
static size_t spy_all(const struct pyspy *p, const struct family *f, struct spied *ret)
{
    struct spied *others = xcalloc(f->n, sizeof *others);
    size_t n = 0;
    size_t n_others = 0;
    for (size_t i = 0; i < f->n; i++) {
        struct spied s = spy(p, &f->threads[i]);
        if (s.python)
            ret[n++] = s;
        else if (!p->o->view.no_native)
            others[n_others++] = s;
        else
            free(s.name);
    }
    if (n_others)
        memcpy(&ret[n], others, n_others * sizeof *others);
    free(others);
    return n + n_others;
}

/* ---- frames ---- */

/* Waits and notes are no frames of py-spy's.  Where something of a stack of N frames is missing a
 * note says so; without native frames one alone says no more than that there are no others. */
static bool is_frame(const struct pyspy *p, const struct dump_thread *t,
                     const struct shown_frame *f, size_t n)
{
    if (f->kind == SHOWN_MARK)
        return !t->complete && (n > 1 || !p->o->view.no_native);
    return f->kind == SHOWN_PYTHON || f->kind == SHOWN_NATIVE;
}

static const char *file_of(const struct shown_frame *f)
{
    const char *file = f->source && *f->source ? f->source : f->module_path;
    file = file ? file : f->module;
    return file ? file : "?";
}

static const char *short_file_of(struct pyspy *p, const struct dump_thread *t,
                                 const struct shown_frame *f)
{
    const char *file = file_of(f);
    const char *part = p->o->full_filenames ? file : package_path(&p->packages, t->pid, file);
    part = part ? part : python_installed_path(file);
    return part ? part : path_base(file);
}

/* Is frame I of STACK, N frames, the outermost of a row of Python's?  Native ones stand alone. */
static bool is_entry(const struct shown_frame *stack, size_t i)
{
    return stack[i].kind != SHOWN_PYTHON || i == 0 || stack[i - 1].kind != SHOWN_PYTHON;
}

/* ---- JSON ---- */

static void write_locals(struct json *j, const struct dump_thread *t, size_t frame)
{
    json_array(j);
    for (size_t i = 0; i < t->locals.n_variables; i++) {
        const struct py_local *v = &t->locals.variables[i];
        if (v->frame != frame)
            continue;
        json_object(j);
        json_string_field(j, "name", v->name);
        json_int_field(j, "addr", (int64_t)v->addr);
        json_bool_field(j, "arg", v->argument);
        json_string_field(j, "repr", v->value);
        json_end_object(j);
    }
    json_end_array(j);
}

static void write_frame(struct pyspy *p, const struct dump_thread *t,
                        const struct shown_frame *stack, size_t n, size_t i)
{
    struct json *j = &p->json;
    const struct shown_frame *f = &stack[i];
    json_newline(j);
    json_object(j);
    json_string_field(j, "name", f->name);
    json_string_field(j, "filename", file_of(f));
    json_string_field(j, "module",
                      f->kind != SHOWN_NATIVE ? NULL
                      : f->module_path        ? f->module_path
                                              : f->module);
    json_string_field(j, "short_filename", short_file_of(p, t, f));
    json_int_field(j, "line", f->current_line);
    if (json_known(j, "locals", p->o->locals && f->kind == SHOWN_PYTHON))
        write_locals(j, t, dump_thread_python_frame(t, stack, n, i));
    json_bool_field(j, "is_entry", is_entry(stack, i));
    json_bool_field(j, "is_shim_entry", is_entry(stack, i));
    json_end_object(j);
}

static void write_thread(struct pyspy *p, const struct spied *s)
{
    struct json *j = &p->json;
    size_t n = 0;
    const struct shown_frame *stack = view_stack(p->d->view, s->t->at, &n);
    json_newline(j);
    json_object(j);
    json_int_field(j, "pid", s->t->pid);
    json_int_field(j, "thread_id", (int64_t)s->id);
    json_string_field(j, "thread_name", s->name);
    json_int_field(j, "os_thread_id", s->t->tid);
    json_bool_field(j, "active", s->active);
    json_bool_field(j, "owns_gil", s->gil);
    json_array_field(j, "frames");
    for (size_t i = n; i-- > 0;)
        if (is_frame(p, s->t, &stack[i], n))
            write_frame(p, s->t, stack, n, i);
    json_end_array(j);
    json_key(j, "process_info");
    json_null(j);
    json_end_object(j);
}

/* ---- text ---- */

static void add_tame(struct pyspy *p, const char *s)
{
    text_add_tame(&p->text, s, strlen(s));
}

static void add_locals(struct pyspy *p, const struct dump_thread *t, size_t frame)
{
    for (int arguments = 1; arguments >= 0; arguments--) {
        const char *title = arguments ? "        Arguments:\n" : "        Locals:\n";
        for (size_t i = 0; i < t->locals.n_variables; i++) {
            const struct py_local *v = &t->locals.variables[i];
            if (v->frame != frame || v->argument != (arguments == 1))
                continue;
            text_addf(&p->text, "%s            %s: %s\n", title, v->name, v->value);
            title = "";
        }
    }
}

static void add_thread(struct pyspy *p, const struct spied *s)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(p->d->view, s->t->at, &n);
    const char *active = s->gil ? "active+gil" : "active";
    text_addf(&p->text, "Thread %d (%s)", s->t->tid, s->active ? active : "idle");
    if (s->name) {
        text_add(&p->text, ": \"");
        add_tame(p, s->name);
        text_add(&p->text, "\"");
    }
    text_add(&p->text, "\n");
    for (size_t i = n; i-- > 0;) {
        if (!is_frame(p, s->t, &stack[i], n))
            continue;
        text_add(&p->text, "    ");
        add_tame(p, stack[i].name);
        text_add(&p->text, " (");
        add_tame(p, short_file_of(p, s->t, &stack[i]));
        if (stack[i].current_line)
            text_addf(&p->text, ":%u", stack[i].current_line);
        text_add(&p->text, ")\n");
        if (p->o->locals && stack[i].kind == SHOWN_PYTHON)
            add_locals(p, s->t, dump_thread_python_frame(s->t, stack, n, i));
    }
}

static void add_command(struct pyspy *p, const char *title, pid_t pid)
{
    struct text command = {0};
    command_line_of(pid, &command);
    text_addf(&p->text, "%s %d: ", title, pid);
    add_tame(p, command.len ? command.s : "");
    text_add(&p->text, "\n");
    text_release(&command);
}

static void add_head(struct pyspy *p, const struct family *f)
{
    const struct profile *profile = p->d->profile;
    const struct profile_process *process =
        profile_see_process(profile, thread_of(p, f->threads)->process);
    char path[64], exe[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", f->pid);
    ssize_t len = readlink(path, exe, sizeof exe);
    add_command(p, "Process", f->pid);
    text_addf(&p->text, "Python v%s (", profile_text(profile, process->python_version));
    text_add_tame(&p->text, exe, len > 0 ? (size_t)len : 0);
    text_add(&p->text, ")\n");
    if (f->parent)
        add_command(p, "Parent Process", f->parent);
    text_add(&p->text, "\n");
}

static void add_rule(struct text *out)
{
    text_add(out, "\n");
    for (int i = 0; i < RULE_COLUMNS; i++)
        text_add(out, "-");
    text_add(out, "\n");
}

/* ---- processes ---- */

/* py-spy lists threads the newest first in JSON, and the oldest first as text. */
static void write_family(struct pyspy *p, const struct family *f)
{
    struct spied *threads = xcalloc(f->n, sizeof *threads);
    size_t n = spy_all(p, f, threads);
    if (!p->o->json)
        add_head(p, f);
    for (size_t i = 0; i < n; i++) {
        if (p->o->json)
            write_thread(p, &threads[n - 1 - i]);
        else
            add_thread(p, &threads[i]);
    }
    for (size_t i = 0; i < n; i++)
        free(threads[i].name);
    free(threads);
    package_paths_release(&p->packages);
}

static pid_t parent_of(pid_t pid)
{
    struct task_stat stat;
    return proc_stat(pid, 0, &stat) == 0 ? stat.ppid : 0;
}

static bool has_process(const struct pyspy *p, pid_t pid)
{
    for (size_t i = 0; i < p->n_families; i++)
        if (p->families[i].pid == pid)
            return true;
    return false;
}

static void find_families(struct pyspy *p)
{
    const struct dump *d = p->d;
    for (size_t i = 0, end; i < d->n; i = end) {
        const struct dump_thread *t = &d->threads[i];
        process_id process = dump_thread_process(d, t);
        end = dump_next_process(d, i);
        p->families =
            array_reserve(p->families, &p->capacity, p->n_families + 1, sizeof *p->families);
        p->families[p->n_families++] = (struct family){
            .pid = t->pid,
            .parent = parent_of(t->pid),
            .python = profile_see_process(d->profile, process)->python_version.ix != 0,
            .threads = t,
            .n = end - i};
    }
    for (size_t i = 0; i < p->n_families; i++)
        if (!has_process(p, p->families[i].parent))
            p->families[i].parent = 0;
}

/* Writes process I, then its children, each with theirs. */
static int write_tree(struct pyspy *p, size_t i, FILE *out)
{
    struct family *f = &p->families[i];
    f->written = true;
    if (f->python && !p->o->json && p->begun)
        add_rule(&p->text);
    if (f->python)
        write_family(p, f);
    p->begun |= f->python;
    int error = dump_write_block(&p->text, out);
    for (size_t k = 0; k < p->n_families && error == 0; k++)
        if (!p->families[k].written && p->families[k].parent == f->pid)
            error = write_tree(p, k, out);
    return error;
}

int pyspy_dump(struct dump *d, const struct process_set *processes, const struct options *o,
               FILE *out)
{
    struct pyspy p = {.d = d, .processes = processes, .o = o, .json = {.out = out}};
    int error = 0;
    find_families(&p);
    if (o->json)
        json_array(&p.json);
    for (size_t i = 0; i < p.n_families && error == 0; i++)
        if (!p.families[i].parent)
            error = write_tree(&p, i, out);
    if (o->json) {
        json_end_array(&p.json);
        error = json_finish(&p.json);
    }
    text_release(&p.text);
    free(p.families);
    return error;
}

int pyspy_dump_check(const struct profile *p, const struct options *o)
{
    uint32_t processes = profile_process_count(p);
    uint32_t others = 0;
    for (uint32_t i = 1; i <= processes; i++)
        others += profile_see_process(p, (process_id){i})->python_version.ix == 0;
    if (others == processes) {
        terminal_error("%d runs no Python that wallspy can read: wallspy dump -p %d has its native "
                       "stacks",
                       o->pids[0], o->pids[0]);
        return EXIT_UNSUPPORTED;
    }
    if (others)
        terminal_warn("processes that run no Python are left out: %u. wallspy dump -s -p %d has "
                      "them",
                      others, o->pids[0]);
    return EXIT_OK;
}
