/* usage: walk_reader PID: prints the Python frames of a process whose threads all wait in
 * read(2), for walk.py to compare:
 *   V version
 *   T tid thread-states end gil
 *   F name line lasti entry marker sp       innermost first
 * Every thread is read as the sampler does it, through a memory that records, and walked again on
 * the recording alone; the two must agree. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "pyframes/py_capture.h"
#include "pyframes/py_code.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_walk.h"
#include "target/proc.h"
#include "tests/support/mem_image.h"

enum { MAX_STATES = 8, MAX_TABLE_BYTES = 1 << 20, BLOCK = 256 };

/* Reads from LIVE in aligned blocks and keeps them in IMAGE. */
struct recording {
    struct mem mem;
    struct mem *live, *image;
};

struct reader {
    pid_t pid;
    struct mem *live;
    struct py_runtime *rt;
    struct py_capture *capture;
    struct py_stack stack, again;
    int failures;
};

static int recording_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct recording *r = (struct recording *)m;
    for (uint64_t at = addr & ~(uint64_t)(BLOCK - 1); at < addr + len; at += BLOCK) {
        uint8_t block[BLOCK];
        if (mem_read(r->image, at, block, BLOCK) == 0)
            continue;
        int error = mem_read(r->live, at, block, BLOCK);
        if (error < 0)
            return error;
        mem_image_add(r->image, at, block, BLOCK);
    }
    return mem_read(r->image, addr, buf, len);
}

static const struct mem_ops recording_ops = {.read = recording_read};

static bool read_str(struct reader *r, uint64_t str, char *ret, size_t capacity)
{
    const struct py_layout *l = &r->rt->layout;
    uint64_t length;
    if (mem_read_u64(r->live, str + l->unicode.length, &length) < 0 || length >= capacity)
        return false;
    ret[length] = '\0';
    return mem_read(r->live, str + l->unicode.ascii_bytes, ret, length) == 0;
}

static bool read_name(struct reader *r, uint64_t code, uint32_t field, char *ret, size_t capacity)
{
    uint64_t str;
    return mem_read_u64(r->live, code + field, &str) == 0 && read_str(r, str, ret, capacity);
}

static int32_t line_of(struct reader *r, const struct py_frame *f)
{
    const struct py_layout *l = &r->rt->layout;
    uint64_t table, size;
    uint32_t first;
    int32_t line = -1;
    if (mem_read_u32(r->live, f->code + l->code.first_line, &first) < 0 ||
        mem_read_u64(r->live, f->code + l->code.linetable, &table) < 0 ||
        mem_read_u64(r->live, table + l->bytes.size, &size) < 0 || size > MAX_TABLE_BYTES)
        return -1;
    uint8_t *bytes = xmalloc(size + 1);
    if (mem_read(r->live, table + l->bytes.data, bytes, size) == 0)
        (void)py_linetable_line(l->traits.lines, bytes, size, (int32_t)first,
                                py_code_lasti(r->rt, r->live, f), &line);
    free(bytes);
    return line;
}

/* The interpreter's own helpers are named like no file. */
static bool is_internal(const char *file)
{
    return str_eq(file, "__init__") || str_eq(file, "<shim>") || str_eq(file, "");
}

static void print_frame(struct reader *r, const struct py_frame *f, uint64_t sp)
{
    const struct py_layout *l = &r->rt->layout;
    char name[256], file[4096];
    uint64_t type = 0;
    (void)mem_read_u64(r->live, f->code + l->object.type, &type);
    if (r->rt->code_type != 0 && type != r->rt->code_type)
        printf("X %#" PRIx64 " is no code object\n", f->code);
    else if (!read_name(r, f->code, l->code.name, name, sizeof name) ||
             !read_name(r, f->code, l->code.filename, file, sizeof file))
        printf("X %#" PRIx64 " has no name\n", f->code);
    else if (is_internal(file))
        printf("I %s %d %#" PRIx64 "\n", name, f->entry, f->marker);
    else
        printf("F %s %d %d %d %#" PRIx64 " %#" PRIx64 "\n", name, line_of(r, f), f->lasti, f->entry,
               f->marker, sp);
}

static bool is_in_read(pid_t pid, pid_t tid, struct syscall_state *ret)
{
    int fd = proc_task_open(pid, tid, "syscall");
    if (fd < 0)
        return false;
    int r = syscall_state_read(fd, ret);
    close(fd);
    return r == 0 && ret->view == SYSCALL_BLOCKED && ret->number == SYS_read;
}

static bool same_stack(const struct py_stack *a, const struct py_stack *b)
{
    if (a->n != b->n || a->end != b->end)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->frames[i].self != b->frames[i].self || a->frames[i].code != b->frames[i].code ||
            a->frames[i].lasti != b->frames[i].lasti || a->frames[i].entry != b->frames[i].entry ||
            a->frames[i].marker != b->frames[i].marker)
            return false;
    return true;
}

static void read_thread(void *ctx, pid_t tid)
{
    struct reader *r = ctx;
    struct recording recording = {.mem = {&recording_ops}, .live = r->live};
    struct syscall_state call;
    uint64_t states[MAX_STATES];
    bool incomplete = false;
    while (!is_in_read(r->pid, tid, &call))
        usleep(1000);
    recording.image = mem_image_new();
    uint32_t n =
        py_capture_thread(r->capture, &recording.mem, tid, 0, states, MAX_STATES, &incomplete);
    (void)py_walk(r->rt, r->live, states, n, &r->stack);
    (void)py_walk(r->rt, recording.image, states, n, &r->again);
    if (incomplete || !same_stack(&r->stack, &r->again)) {
        printf("X the recording of %d does not hold what the walk needs\n", tid);
        r->failures++;
    }
    struct py_gil_state gil =
        py_gil_state(r->rt, recording.image, states, n, call.number, call.args[0]);
    printf("T %d %u %d %d\n", tid, n, r->stack.end, gil.gil);
    for (size_t i = 0; i < r->stack.n; i++)
        print_frame(r, &r->stack.frames[i], call.sp);
    mem_free(recording.image);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int64_t pid = 0;
    if (argc != 2 || parse_whole_i64(argv[1], 1, INT32_MAX, &pid) < 0)
        return 2;
    struct reader r = {.pid = (pid_t)pid};
    if (mem_live_open(&r.live, r.pid, &err) < 0) {
        printf("X %s\n", err.text);
        return 1;
    }
    struct modules *modules = modules_new(r.pid, r.live);
    modules_refresh(modules);
    int64_t began = clock_now_ns();
    int found = py_runtime_find(&r.rt, modules, r.live, &err);
    printf("N %d %" PRId64 " us, %zu modules: %s\n", found, (clock_now_ns() - began) / NS_PER_US,
           modules_count(modules), err.text);
    if (found < 0)
        return 1;
    printf("V %s\n", py_runtime_version(r.rt));
    r.capture = py_capture_new(r.rt, NULL);
    r.stack.frames = xcalloc(PY_MAX_FRAMES, sizeof *r.stack.frames);
    r.again.frames = xcalloc(PY_MAX_FRAMES, sizeof *r.again.frames);
    r.stack.capacity = r.again.capacity = PY_MAX_FRAMES;
    while (py_capture_tick(r.capture, r.live))
        ;
    proc_each_task(r.pid, read_thread, &r);
    free(r.stack.frames);
    free(r.again.frames);
    py_capture_free(r.capture);
    py_runtime_free(r.rt);
    modules_free(modules);
    mem_free(r.live);
    return r.failures != 0;
}
