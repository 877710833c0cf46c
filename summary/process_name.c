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
        s += s ? 1 : 0;
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

static bool runs_python(const struct profile *p, process_id id)
{
    return profile_see_process(p, id)->python_version.ix != 0;
}

/* Is CHILD what ranks are there for, and process ID, whose rank is that of variable NAME, only in
 * between: torchrun in a Slurm job, or a shell that runs Python? */
static bool takes_over(const struct profile *p, process_id id, process_id child, size_t name)
{
    size_t len;
    size_t own;
    if (profile_see_process(p, child)->parent.ix != id.ix || !find_rank(p, child, &len, &own))
        return false;
    return own < name || (own == name && runs_python(p, child) && !runs_python(p, id));
}

const char *process_own_rank(const struct profile *p, process_id id, size_t *ret_len)
{
    size_t name;
    size_t parents;
    size_t len = 0;
    process_id parent = profile_see_process(p, id)->parent;
    const char *rank = find_rank(p, id, ret_len, &name);
    if (!rank)
        return NULL;
    const char *inherited = parent.ix ? find_rank(p, parent, &len, &parents) : NULL;
    if (inherited && parents == name && len == *ret_len && strncmp(rank, inherited, len) == 0 &&
        !takes_over(p, parent, id, name))
        return NULL;
    /* Nobody takes over from a Python that has the first of the variables. */
    bool may_launch = !runs_python(p, id) || name > 0;
    for (uint32_t i = id.ix + 1; may_launch && i <= profile_process_count(p); i++)
        if (takes_over(p, id, (process_id){i}, name))
            return NULL;
    return rank;
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
    struct text tame = {0};
    struct text title = {0};
    const char *s = profile_text(p, process->title.ix ? process->title : process->comm);
    text_add_tame(&tame, s, strlen(s));
    text_add(&title, "");
    text_add_cut(&title, tame.len ? tame.s : "", tame.len, MOST_COLUMNS);
    text_release(&tame);
    return title.s;
}
