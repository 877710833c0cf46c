#include "worker/turns.h"

#include "base/minmax.h"

struct turns turns_of(size_t n, int64_t longest_ns, int64_t now_ns)
{
    return (struct turns){.end_ns = now_ns + longest_ns, .left = n};
}

int64_t turns_next_ns(struct turns *t, int64_t now_ns)
{
    int64_t ns = max_i64(t->end_ns - now_ns, 0) / (int64_t)(t->left ? t->left : 1);
    t->left -= t->left > 0;
    return ns;
}
