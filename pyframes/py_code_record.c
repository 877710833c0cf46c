/* The set of code objects that were seen has a fixed size: if more are in progress, some are
 * recorded more than once. */
#include "pyframes/py_code_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_code_key.h"
#include "pyframes/py_string.h"

enum {
    ROWS = 2048,
    ROW_ENTRIES = 4,  /* an address has its place in one row */
    MAX_NEW = 64,     /* objects recorded in one capture: all of a program that is just beginning */
    MAX_CHECKS = 128, /* keys read again in one capture */
    /* The key of an object that stayed the same for N captures is read again after N / 16 more. */
    AGE_PER_GAP = 16,
    MAX_GAP = 32,
    /* After an object was seen in another's place, or a new one at all, more are to be expected:
     * for so many captures all keys are read. */
    CHURNING_REPLACED = 1024,
    CHURNING_NEW = 64,
    MAX_LINETABLE_BYTES = 32 << 10, /* longer ones are left to the worker */
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
    struct seen rows[ROWS][ROW_ENTRIES];
    /* Nobody looks at what is read into this: RECORDING keeps it. */
    uint8_t scratch[MAX_LINETABLE_BYTES];
};

struct py_code_record *py_code_record_new(const struct py_runtime *rt)
{
    struct py_code_record *r = xmalloc(sizeof *r);
    memset(r, 0, sizeof *r); /* touched now: page faults would lengthen a hold */
    r->rt = rt;
    r->key_bytes = py_code_key_bytes(&rt->layout);
    return r;
}

struct py_code_record *py_code_record_free(struct py_code_record *r)
{
    free(r);
    return NULL;
}

/* The entry of ADDR; if it has none, the entry of its row that was not seen for longest. */
static struct seen *entry_of(struct py_code_record *r, uint64_t addr)
{
    struct seen *row = r->rows[hash_u64(addr) % ROWS];
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
    const struct py_layout *l = &r->rt->layout;
    uint64_t data;
    size_t len;
    if (py_string_find(l, recording, py_code_key_name(l, key), &data, &len) == 0)
        (void)mem_read(recording, data, r->scratch, len);
    if (py_string_find(l, recording, key->filename, &data, &len) == 0)
        (void)mem_read(recording, data, r->scratch, len);
    if (py_bytes_find(l, recording, key->linetable, sizeof r->scratch, &data, &len) == 0)
        (void)mem_read(recording, data, r->scratch, len);
    *e = (struct seen){.addr = addr, .key = py_code_key_hash(key), .recorded = r->round};
    r->n_new++;
}

static void note_churn(struct py_code_record *r, uint32_t captures)
{
    if (r->churning_until < r->round + captures)
        r->churning_until = r->round + captures;
}

static void see(struct py_code_record *r, struct mem *recording, uint64_t addr)
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
        see(r, recording, stack->frames[i].code);
}

void py_code_record_undo(struct py_code_record *r, const struct py_stack *stack)
{
    for (size_t i = 0; i < stack->n; i++) {
        struct seen *e = entry_of(r, stack->frames[i].code);
        if (e->addr == stack->frames[i].code && e->recorded == r->round)
            *e = (struct seen){0};
    }
}
