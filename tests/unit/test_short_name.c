#include "summary/short_name.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "tests/support/check_main.h"

static const char worker[] = "ns::Worker<int, char>::run(int) worker.cc:12";

static const struct {
    const char *name;
    size_t columns;
    const char *shown;
} names[] = {
    {"ns::Worker::run worker.cc:12", 30, "ns::Worker::run worker.cc:12"},
    {worker, 44, worker},
    {worker, 43, "ns::Worker::run worker.cc:12"}, /* arguments first */
    {worker, 26, "Worker::run worker.cc:12"},     /* then outer namespaces */
    {worker, 20, "run worker.cc:12"},
    {worker, 12, "Worker::run"}, /* then the place */
    {worker, 8, "run"},
    {"v8::(anonymous namespace)::HandleApiCall", 30, "v8::HandleApiCall"},
    {"v8::(anonymous namespace)::HandleApiCall", 10, "…leApiCall"},
    {"make.<locals>.iterate.<locals>.floatstr", 24, "make.iterate.floatstr"},
    {"make.<locals>.iterate.<locals>.floatstr", 20, "iterate.floatstr"},
    {"make.<locals>.<lambda>", 14, "make.<lambda>"},
    {"<module> train.py:1", 10, "<module>"},
    {"main.(*Pool).run main.go:5", 25, "main.Pool.run main.go:5"},
    {"Vec::operator()(int) const a.cc:1", 16, "operator() const"},
    {"Vec::operator() a.cc:1", 20, "operator() a.cc:1"},
    {"libc.so.6+0x12345", 12, "…o.6+0x12345"}, /* no components */
    {"(*T)", 8, "(*T)"},
    {"a((((", 8, "a(((("},
    /* Rust's: arguments have a separator before them, a method its type or trait */
    {"rayon_core::registry::in_worker::<a::B<C>, D>", 40, "rayon_core::registry::in_worker"},
    {"join::call::<a::B>::{closure#0}", 24, "join::call::{closure#0}"},
    {"join::call::<a::B<cut", 20, "join::call"},
    {"<map::HashMap<u8, u8, RandomState>>::insert", 30, "map::HashMap::insert"},
    {"<vec::Vec<T, A> as b::FromIter<T, I>>::from_iter", 30, "vec::Vec::from_iter"},
    {"<I as b::in_place::Collect<T, I>>::collect", 30, "b::in_place::Collect::collect"},
    {"<&T as b::in_place::Collect<T, I>>::collect", 20, "Collect::collect"},
    {"<F as b::Fn<(fn() -> T, u8)>>::call_once", 20, "b::Fn::call_once"},
    {"<<A as Into<B>>::C as Extend<u8>>::extend::<D>", 30, "<A as Into<B>>::C::extend"},
    {"<module>", 8, "<module>"},
    {"[read /a/b/c]", 20, "[read /a/b/c]"},
    {"[read /mnt/data/a/long/path]", 20, "[read …/a/long/path]"},
    {"[read 64 files: /mnt/data/a/long/path]", 30, "[read 64 files: …/a/long/path]"},
    {"[read 64 files: /mnt/data/a/long/path]", 20, "[read …/a/long/path]"},
    /* The function that a wrapper calls, where that is all that tells. */
    {"torch::to_NotImplemented_<&torch::THPVariable_matmul>", 60,
     "torch::to_NotImplemented_<&torch::THPVariable_matmul>"},
    {"torch::to_NotImplemented_<&torch::THPVariable_matmul>", 30, "torch::THPVariable_matmul"},
    {"call<&ns::f, &ns::g>", 12, "call"},
    {"std::io::read::<&std::fs::File>", 20, "std::io::read"}, /* Rust's */
    {"caf\xc3\xa9::na\xc3\xafve", 10, "caf\xc3\xa9::na\xc3\xafve" + 7},
};

START_TEST(names_lose_what_tells_least)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text shown = {0};
        short_name_add(&shown, names[i].name, names[i].columns);
        ck_assert_str_eq(shown.s, names[i].shown);
        ck_assert_uint_le(utf8_columns(shown.s, shown.len), names[i].columns);
        text_release(&shown);
    }
}
END_TEST

static const struct {
    const char *label;
    size_t head, tail;
    const char *brief, *shown; /* in 20 columns */
} labels[] = {
    {"mge-worker 17001", 0, 6, NULL, "mge-worker 17001"},
    {"mge-worker-with-a-long-name 1234567", 0, 8, NULL, "mge-worker-… 1234567"},
    {"38 x Mixin.process_request_thread", 5, 0, NULL, "38 x process_reques…"},
    {"4 x node::(anonymous namespace)::Runner", 4, 0, NULL, "4 x node::Runner"},
    {"rank1 ns::Pool::work 17001", 6, 6, NULL, "rank1 work 17001"},
    {"70 ended: ns::Pool::run", 10, 0, NULL, "70 ended: Pool::run"},
    {"rank0, rank1 main", 0, 0, "rank0, 1 main", "rank0, rank1 main"},
    {"rank0, rank1, rank2 main", 0, 0, "rank0, 1, 2 main", "rank0, 1, 2 main"},
    {"1 x a-thread-that-is-called-8 x 9", 4, 0, NULL, "1 x a-thread-that-i…"},
};

START_TEST(labels_keep_their_numbers)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct text shown = {0};
        char *brief = labels[i].brief ? xstrdup(labels[i].brief) : NULL;
        const struct label_shape shape = {labels[i].head, labels[i].tail, brief};
        short_label_add(&shown, labels[i].label, &shape, 20);
        free(brief);
        ck_assert_str_eq(shown.s, labels[i].shown);
        text_release(&shown);
    }
}
END_TEST

/* Whatever a program calls its functions. */
START_TEST(nothing_is_too_long)
{
    static const char *const parts[] = {"<",  "(", ")", ">", "::",       ".",    "operator",
                                        "(*", "a", " ", "[", "\xc3\xa9", "\xff", "<locals>."};
    enum { N = sizeof parts / sizeof *parts };
    for (size_t i = 0; i < (size_t)N * N * N * N; i++) {
        struct text name = {0};
        struct text shown = {0};
        for (size_t rest = i, k = 0; k < 4; k++, rest /= N)
            text_addf(&name, "%s%s", parts[rest % N], k % 2 ? "bcdef" : "");
        short_name_add(&shown, name.s, 8);
        ck_assert_msg(utf8_columns(shown.s, shown.len) <= 8, "%s", name.s);
        text_clear(&shown);
        short_label_add(&shown, name.s, &(struct label_shape){0}, 15);
        ck_assert_msg(utf8_columns(shown.s, shown.len) <= 15, "%s", name.s);
        text_release(&name);
        text_release(&shown);
    }
}
END_TEST

CHECK_MAIN("short_name", 20, names_lose_what_tells_least, labels_keep_their_numbers,
           nothing_is_too_long)
