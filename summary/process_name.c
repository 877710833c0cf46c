#include "summary/process_name.h"

#include <string.h>

#include "base/alloc.h"

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
const char *process_rank(const struct profile *p, process_id id, size_t *ret_len)
{
    static const char *const names[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK", "SLURM_PROCID",         "LOCAL_RANK"};
    const char *value = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !value; i++)
        value = process_number(p, id, names[i], ret_len);
    return value;
}

char *name_of_process(const struct profile *p, process_id id)
{
    size_t len = 0;
    if (profile_process_count(p) == 1)
        return xstrdup("");
    const char *rank = process_rank(p, id, &len);
    if (rank)
        return xasprintf("rank%.*s", (int)len, rank);
    return xasprintf("%d", profile_see_process(p, id)->pid);
}
