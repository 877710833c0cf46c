/* A set of the code objects seen, of fixed size: in a program with more of them in progress, some
 * are recorded more than once. */
#include "pyframes/py_code_keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_code_key.h"
#include "pyframes/py_string.h"

enum {
    ROWS = 2048,
    ROW_ENTRIES = 4, /* an address has its place in one row */
    MAX_NEW = 64,    /* objects recorded in one capture: of a program that is just beginning, all */
    MAX_CHECKS = 128, /* keys read again in one capture */
    /* An object that stayed the same for N captures is looked at again after N / 16 more. */
    AGE_PER_GAP = 16,
    MAX_GAP = 32,
    /* Where an object was seen in another's place, or a new one at all, others will be: for so many captures
     * all are looked at in each. */
    CHURNING_REPLACED = 1024,
    CHURNING_NEW = 64,
    MAX_LINETABLE_BYTES = 32 << 10, /* longer ones are left to the worker */
};

struct seen {
    uint64_t addr;       /* 0: free */
    uint64_t key;        /* its hash */
    uint32_t last_round; /* the capture that saw it last */
    uint32_t recorded;   /* the one that recorded it */
    uint32_t captures;   /* that saw it so */
    uint32_t check_at;   /* when captures is so many */
};

struct py_code_keep {
    const struct py_runtime *rt;
    size_t key_bytes;
    uint32_t round;
    uint32_t churning_until;  /* the capture before which every object is looked at */
    unsigned n_new, n_checks; /* in this round */
    struct seen rows[ROWS][ROW_ENTRIES];
    /* What is read goes here: only that RECORDING has it matters. */
    uint8_t scratch[MAX_LINETABLE_BYTES];
};

struct py_code_keep *py_code_keep_new(const struct py_runtime *rt)
{
    struct py_code_keep *k = xmalloc(sizeof *k);
    memset(k, 0, sizeof *k); /* touched now: page faults would lengthen a hold */
    k->rt = rt;
    k->key_bytes = py_code_key_bytes(&rt->layout);
    return k;
}

struct py_code_keep *py_code_keep_free(struct py_code_keep *k)
{
    free(k);
    return NULL;
}

/* The entry of ADDR; else the one of its row that was not seen for longest. */
static struct seen *entry_of(struct py_code_keep *k, uint64_t addr)
{
    struct seen *row = k->rows[hash_u64(addr) % ROWS];
    struct seen *oldest = row;
    for (struct seen *e = row; e < row + ROW_ENTRIES; e++) {
        if (e->addr == addr)
            return e;
        if (k->round - e->last_round > k->round - oldest->last_round)
            oldest = e;
    }
    return oldest;
}

static bool read_key(struct py_code_keep *k, struct mem *recording, uint64_t addr,
                     struct py_code_key *ret)
{
    if (mem_read(recording, addr, k->scratch, k->key_bytes) < 0)
        return false;
    *ret = py_code_key_of(&k->rt->layout, k->scratch);
    return !k->rt->code_type || ret->type == k->rt->code_type;
}

static void record(struct py_code_keep *k, struct mem *recording, struct seen *e, uint64_t addr,
                   const struct py_code_key *key)
{
    const struct py_layout *l = &k->rt->layout;
    uint64_t data;
    size_t len;
    if (py_string_find(l, recording, py_code_key_name(l, key), &data, &len) == 0)
        (void)mem_read(recording, data, k->scratch, len);
    if (py_string_find(l, recording, key->filename, &data, &len) == 0)
        (void)mem_read(recording, data, k->scratch, len);
    if (py_bytes_find(l, recording, key->linetable, sizeof k->scratch, &data, &len) == 0)
        (void)mem_read(recording, data, k->scratch, len);
    *e = (struct seen){.addr = addr, .key = py_code_key_hash(key), .recorded = k->round};
    k->n_new++;
}

static void note_churn(struct py_code_keep *k, uint32_t captures)
{
    if (k->churning_until < k->round + captures)
        k->churning_until = k->round + captures;
}

static void see(struct py_code_keep *k, struct mem *recording, uint64_t addr)
{
    struct seen *e = entry_of(k, addr);
    struct py_code_key key;
    bool known = e->addr == addr;
    if (known && e->last_round == k->round)
        return;
    bool due = k->round < k->churning_until || e->captures >= e->check_at;
    bool check = known && due && k->n_checks < MAX_CHECKS;
    if (check || (!known && k->n_new < MAX_NEW)) {
        k->n_checks += check;
        if (!read_key(k, recording, addr, &key))
            return;
        bool same = known && py_code_key_hash(&key) == e->key;
        if (!same) {
            note_churn(k, known ? CHURNING_REPLACED : CHURNING_NEW);
            record(k, recording, e, addr, &key);
        }
        uint32_t gap = e->captures / AGE_PER_GAP;
        e->check_at = e->captures + 1 + (gap < MAX_GAP ? gap : MAX_GAP);
        known = true;
    }
    if (!known)
        return;
    e->captures++;
    e->last_round = k->round;
}

void py_code_keep_stack(struct py_code_keep *k, struct mem *recording, const struct py_stack *stack)
{
    k->round++;
    k->n_new = k->n_checks = 0;
    for (size_t i = 0; i < stack->n; i++)
        see(k, recording, stack->frames[i].code);
}

void py_code_keep_undo(struct py_code_keep *k, const struct py_stack *stack)
{
    for (size_t i = 0; i < stack->n; i++) {
        struct seen *e = entry_of(k, stack->frames[i].code);
        if (e->addr == stack->frames[i].code && e->recorded == k->round)
            *e = (struct seen){0};
    }
}
