#include "summary/process_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

const char *process_variable(const struct profile *p, process_id id, const char *name,
                             size_t *ret_len)
{
    const char *s = profile_text(p, profile_see_process(p, id)->environment);
    size_t len = strlen(name);
    while (s && *s) {
        if (strncmp(s, name, len) == 0 && s[len] == '=') {
            *ret_len = strcspn(s + len + 1, " ");
            return s + len + 1;
        }
        s = strchr(s, ' ');
        if (s)
            s++;
    }
    return NULL;
}

const char *process_number(const struct profile *p, process_id id, const char *name,
                           size_t *ret_len)
{
    const char *value = process_variable(p, id, name, ret_len);
    bool number = value && *ret_len && *ret_len < 16 && strspn(value, "0123456789") >= *ret_len;
    return number ? value : NULL;
}

/* Source: what torchrun, Open MPI, PMIx, MPICH and Slurm set. */
static const char *const rank_names[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                         "PMI_RANK", "SLURM_PROCID",         "LOCAL_RANK"};
enum { RANK_NAMES = sizeof rank_names / sizeof *rank_names };

/* The rank, and in RET_NAME which of the variables has it: the first ones tell the most. */
static const char *find_rank(const struct profile *p, process_id id, size_t *ret_len,
                             size_t *ret_name)
{
    for (size_t i = 0; i < RANK_NAMES; i++) {
        const char *value = process_number(p, id, rank_names[i], ret_len);
        *ret_name = i;
        if (value)
            return value;
    }
    return NULL;
}

const char *process_rank(const struct profile *p, process_id id, size_t *ret_len)
{
    size_t name;
    return find_rank(p, id, ret_len, &name);
}

/* The first of NAMES, which ends in NULL, that is a number. */
static const char *first_number(const struct profile *p, process_id id, const char *const *names,
                                size_t *ret_len)
{
    const char *value = NULL;
    for (; *names && !value; names++)
        value = process_number(p, id, *names, ret_len);
    return value;
}

const char *process_world_size(const struct profile *p, process_id id, size_t *ret_len)
{
    static const char *const names[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS", NULL};
    return first_number(p, id, names, ret_len);
}

const char *process_local_rank(const struct profile *p, process_id id, size_t *ret_len)
{
    static const char *const names[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID", "SLURM_LOCALID", NULL};
    return first_number(p, id, names, ret_len);
}

static bool runs_python(const struct profile *p, process_id id)
{
    return profile_see_process(p, id)->python_version.ix != 0;
}

static bool same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && strncmp(a, b, a_len) == 0;
}

/* Facts of children's ranks about their parent's, which is that of variable NAME. */
struct ranks_below {
    bool taken_over; /* torchrun in a Slurm job, or a shell that runs Python */
    bool same, other;
};

static void look_at_child(struct ranks_below *b, const struct profile *p, process_id id,
                          process_id child, size_t name)
{
    size_t len;
    size_t parents;
    size_t own;
    const char *rank = find_rank(p, child, &len, &own);
    const char *before = find_rank(p, id, &parents, &name);
    if (!rank || own > name)
        return;
    if (own == name) {
        bool same = same_text(rank, len, before, parents);
        b->same |= same;
        b->other |= !same;
    }
    bool numbered = process_variable(p, child, "LOCAL_RANK", &len) &&
                    !process_variable(p, id, "LOCAL_RANK", &len);
    b->taken_over |= own < name || numbered || (runs_python(p, child) && !runs_python(p, id));
}

/* Does process ID, which has the rank of variable NAME, only hand ranks on?  So does who sets the
 * variable anew before each start of a child: it has the last one's.  It does so when it begins, so
 * that not all of ten thousand processes need be asked. */
static bool hands_on(const struct profile *p, process_id id, size_t name)
{
    enum { MOST_ASKED = 1024 };
    struct ranks_below below = {.same = false};
    uint32_t n = profile_process_count(p);
    uint32_t last = n - id.ix > MOST_ASKED ? id.ix + MOST_ASKED : n;
    for (uint32_t i = id.ix + 1; i <= last; i++)
        if (profile_see_process(p, (process_id){i})->parent.ix == id.ix)
            look_at_child(&below, p, id, (process_id){i}, name);
    return below.taken_over || (below.same && below.other);
}

const char *process_own_rank(const struct profile *p, process_id id, size_t *ret_len)
{
    size_t name;
    size_t parents;
    size_t len = 0;
    process_id parent = profile_see_process(p, id)->parent;
    const char *rank = find_rank(p, id, ret_len, &name);
    if (!rank || hands_on(p, id, name))
        return NULL;
    const char *inherited = parent.ix ? find_rank(p, parent, &len, &parents) : NULL;
    bool same = inherited && parents == name && same_text(rank, *ret_len, inherited, len);
    return same && !hands_on(p, parent, name) ? NULL : rank;
}

char *name_of_process(const struct profile *p, process_id id)
{
    size_t len = 0;
    if (profile_process_count(p) == 1)
        return xstrdup("");
    const char *rank = process_own_rank(p, id, &len);
    if (rank)
        return xasprintf("rank%.*s", (int)len, rank);
    return xasprintf("%d", profile_see_process(p, id)->pid);
}

const struct profile_process *process_forked_from(const struct profile *p, process_id id)
{
    const struct profile_process *child = profile_see_process(p, id);
    const struct profile_process *parent =
        child->parent.ix ? profile_see_process(p, child->parent) : NULL;
    return parent && parent->command.ix == child->command.ix ? parent : NULL;
}

bool process_is_rank(const struct profile *p, process_id id)
{
    size_t len;
    return process_own_rank(p, id, &len) != NULL;
}

char *label_of_process(const struct profile *p, process_id id)
{
    char *name = name_of_process(p, id);
    if (!*name || process_is_rank(p, id))
        return name;
    char *title = title_of_process(p, id);
    char *label = xasprintf("%s%s%s", title, *title ? " " : "", name);
    free(title);
    free(name);
    return label;
}

char *title_of_process(const struct profile *p, process_id id)
{
    enum { MOST_COLUMNS = 32 };
    const struct profile_process *process = profile_see_process(p, id);
    struct text title = {0};
    const char *s = profile_text(p, process->title.ix ? process->title : process->comm);
    text_add_tame_cut(&title, s, MOST_COLUMNS);
    return title.s;
}
