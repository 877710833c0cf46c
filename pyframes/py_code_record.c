/* The set of code objects that were seen grows to a largest size, because most of many processes
 * run few: if more are in progress, some are recorded more than once. */
#include "pyframes/py_code_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_code_key.h"
#include "pyframes/py_string.h"

enum {
    FIRST_ROWS = 16, /* 2 KB */
    MOST_ROWS = 2048,
    GROWTH = 4, /* the entries of one row then have as many rows as there are entries in it */
    ROW_ENTRIES = GROWTH, /* an address has its place in one row */
    MAX_NEW = 64,     /* objects recorded in one capture: all of a program that is just beginning */
    MAX_CHECKS = 128, /* keys read again in one capture */
    /* The key of an object that stayed the same for N captures is read again after N / 16 more. */
    AGE_PER_GAP = 16,
    MAX_GAP = 32,
    /* After an object was seen in another's place, or a new one at all, more are to be expected:
     * for so many captures all keys are read. */
    CHURNING_REPLACED = 1024,
    CHURNING_NEW = 64,
    /* Longer ones are left to the worker. */
    MAX_LINETABLE_BYTES = PY_CODE_RECORD_SCRATCH_BYTES,
};

struct seen {
    uint64_t addr;       /* 0: free */
    uint64_t key;        /* its hash */
    uint32_t last_round; /* the capture that saw it last */
    uint32_t recorded;   /* the capture that recorded it */
    uint32_t captures;   /* how many saw it */
    uint32_t check_at;   /* its key is read again when there were so many */
};

struct py_code_record {
    const struct py_runtime *rt;
    size_t key_bytes;
    uint32_t round;
    uint32_t churning_until;  /* before this capture all keys are read */
    unsigned n_new, n_checks; /* in this round */
    struct seen (*rows)[ROW_ENTRIES];
    size_t n_rows;
    bool crowded;     /* an entry had to give way to another */
    uint8_t *scratch; /* nobody looks at what is read into this: RECORDING keeps it */
};

/* Touched now: page faults would lengthen a hold. */
static void make_rows(struct py_code_record *r, size_t n)
{
    r->rows = xmalloc(n * sizeof *r->rows);
    memset(r->rows, 0, n * sizeof *r->rows);
    r->n_rows = n;
}

struct py_code_record *py_code_record_new(const struct py_runtime *rt, uint8_t *scratch)
{
    struct py_code_record *r = xcalloc(1, sizeof *r);
    r->rt = rt;
    r->key_bytes = py_code_key_bytes(&rt->layout);
    r->scratch = scratch;
    make_rows(r, FIRST_ROWS);
    return r;
}

static struct seen *row_of(struct py_code_record *r, uint64_t addr)
{
    return r->rows[hash_u64(addr) % r->n_rows];
}

void py_code_record_tick(struct py_code_record *r)
{
    struct seen(*old)[ROW_ENTRIES] = r->rows;
    size_t n = r->n_rows;
    if (!r->crowded || n == MOST_ROWS)
        return;
    r->crowded = false;
    make_rows(r, n * GROWTH < MOST_ROWS ? n * GROWTH : MOST_ROWS);
    for (size_t i = 0; i < n * ROW_ENTRIES; i++) {
        const struct seen *e = &old[i / ROW_ENTRIES][i % ROW_ENTRIES];
        struct seen *to = row_of(r, e->addr);
        while (e->addr && to->addr)
            to++; /* a row is filled from an earlier one, which has no more */
        if (e->addr)
            *to = *e;
    }
    free(old);
}

struct py_code_record *py_code_record_free(struct py_code_record *r)
{
    if (!r)
        return NULL;
    free(r->rows);
    free(r);
    return NULL;
}

/* The entry of ADDR; if it has none, the entry of its row that was not seen for longest. */
static struct seen *entry_of(struct py_code_record *r, uint64_t addr)
{
    struct seen *row = row_of(r, addr);
    struct seen *oldest = row;
    for (struct seen *e = row; e < row + ROW_ENTRIES; e++) {
        if (e->addr == addr)
            return e;
        if (r->round - e->last_round > r->round - oldest->last_round)
            oldest = e;
    }
    return oldest;
}

static bool read_key(struct py_code_record *r, struct mem *recording, uint64_t addr,
                     struct py_code_key *ret)
{
    if (mem_read(recording, addr, r->scratch, r->key_bytes) < 0)
        return false;
    *ret = py_code_key_of(&r->rt->layout, r->scratch);
    return !r->rt->code_type || ret->type == r->rt->code_type;
}

static void record(struct py_code_record *r, struct mem *recording, struct seen *e, uint64_t addr,
                   const struct py_code_key *key)
{
    r->crowded |= e->addr && e->addr != addr;
    const struct py_layout *l = &r->rt->layout;
    uint64_t data;
    size_t len;
    if (py_string_find(l, recording, py_code_key_name(l, key), &data, &len) == 0)
        (void)mem_read(recording, data, r->scratch, len);
    if (py_string_find(l, recording, key->filename, &data, &len) == 0)
        (void)mem_read(recording, data, r->scratch, len);
    if (py_bytes_find(l, recording, key->linetable, MAX_LINETABLE_BYTES, &data, &len) == 0)
        (void)mem_read(recording, data, r->scratch, len);
    *e = (struct seen){.addr = addr, .key = py_code_key_hash(key), .recorded = r->round};
    r->n_new++;
}

static void note_churn(struct py_code_record *r, uint32_t captures)
{
    if (r->churning_until < r->round + captures)
        r->churning_until = r->round + captures;
}

static void see_code(struct py_code_record *r, struct mem *recording, uint64_t addr)
{
    struct seen *e = entry_of(r, addr);
    struct py_code_key key;
    bool known = e->addr == addr;
    if (known && e->last_round == r->round)
        return;
    bool due = r->round < r->churning_until || e->captures >= e->check_at;
    bool check = known && due && r->n_checks < MAX_CHECKS;
    if (check || (!known && r->n_new < MAX_NEW)) {
        r->n_checks += check;
        if (!read_key(r, recording, addr, &key))
            return;
        bool same = known && py_code_key_hash(&key) == e->key;
        if (!same) {
            note_churn(r, known ? CHURNING_REPLACED : CHURNING_NEW);
            record(r, recording, e, addr, &key);
        }
        uint32_t gap = e->captures / AGE_PER_GAP;
        e->check_at = e->captures + 1 + (gap < MAX_GAP ? gap : MAX_GAP);
        known = true;
    }
    if (!known)
        return;
    e->captures++;
    e->last_round = r->round;
}

void py_code_record_stack(struct py_code_record *r, struct mem *recording,
                          const struct py_stack *stack)
{
    r->round++;
    r->n_new = r->n_checks = 0;
    for (size_t i = 0; i < stack->n; i++)
        see_code(r, recording, stack->frames[i].code);
}

void py_code_record_undo(struct py_code_record *r, const struct py_stack *stack)
{
    for (size_t i = 0; i < stack->n; i++) {
        struct seen *e = entry_of(r, stack->frames[i].code);
        if (e->addr == stack->frames[i].code && e->recorded == r->round)
            *e = (struct seen){0};
    }
}
