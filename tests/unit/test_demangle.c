/* Expected names were compared with c++filt (binutils 2.40) where it can leave parameters out. */
#include "symbolizer/demangle.h"

#include "symbolizer/rust_v0.h"
#include "tests/support/check_main.h"

#include <string.h>

static const struct {
    const char *mangled, *shown;
} cases[] = {
    {"Z", "Z"},
    {"__pyx_f_4yaml_5_yaml_7CParser__parse", "CParser._parse"},
    {"__pyx_f_4yaml_5_yaml_input_handler", "_yaml.input_handler"},
    {"__pyx_gb_4mine_9generator_2generator1", "generator.generator1"},
    {"__pyx_mdef_5numpy_6random_6mtrand_11RandomState_107shuffle",
     "__pyx_mdef_5numpy_6random_6mtrand_11RandomState_107shuffle"},
    {"__pyx_pf_5numpy_6random_6mtrand_11RandomState_106shuffle.isra.0",
     "RandomState.shuffle.isra.0"},
    {"__pyx_pw_", "__pyx_pw_"},
    {"__pyx_pw_4yaml", "__pyx_pw_4yaml"},
    {"__pyx_pw_4yaml_5_yaml_1get_version_string", "_yaml.get_version_string"},
    {"__pyx_pf_15View_dot_MemoryView_10memoryview_10__len__", "memoryview.__len__"},
    {"__pyx_pf_4yaml_5_yaml_4Mark___init__", "Mark.__init__"},
    {"__pyx_pw_4yaml_5_yaml_4Mark_3get_snippet", "Mark.get_snippet"},
    {"__pyx_pw_4yaml_5_yaml_7CParser_1__init__", "CParser.__init__"},
    {"__pyx_pw_999999yaml_1f", "__pyx_pw_999999yaml_1f"},
    {"_GLOBAL__sub_I_main.cpp", "_GLOBAL__sub_I_main.cpp"},
    {"_R", "_R"},
    {"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"},
    {"_RNvCs1234_7mycrate4main", "mycrate::main"},
    {"_Z", "_Z"},
    {"_Z1fB5cxx11v", "f[abi:cxx11]"},
    {"_ZN8__main__5innerB2v2B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3dEd", "__main__::inner"},
    {"_Z1fILi3EEvv", "f<3>"},
    {"_Z1fIXadL_Z1gvEEEvv", "f<&(g())>"},
    {"_Z1fU7_Atomici", "f"},
    {"_Z3fooDpT_", "foo"},
    {"_Z3fooi._omp_fn.0", "foo._omp_fn.0"},
    {"_Z3fooi.cold", "foo.cold"},
    {"_Z3fooi.constprop.0.cold", "foo.constprop.0.cold"},
    {"_Z3fooi.llvm.123456", "foo"},
    {"_Z3fooi.lto_priv.0.cold", "foo.cold"},
    {"_Z3fooi.part.0", "foo.part.0"},
    {"_Z3fooi@@V1", "foo"},
    {"_Z3fooi@plt", "foo@plt"},
    {"_Z41__static_initialization_and_destruction_0ii",
     "__static_initialization_and_destruction_0"},
    {"_Z5applyIPFiiEEvT_", "apply<int (*)(int)>"},
    {"_ZGVZ3foovE1x", "guard variable for foo::x"},
    {"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"},
    {"_ZN1A1bMUlvE_clEv", "A::b::{lambda()#1}::operator()"},
    {"_ZN1AcvT_IiEEv", "A::operator int<int>"},
    {"_ZN1XIJEE1fEv", "X<>::f"},
    {"_ZN2at6native12_GLOBAL__N_19topk_implINS_6TensorEEEvRKT_",
     "at::native::(anonymous namespace)::topk_impl<at::Tensor>"},
    {"_ZN3a.b3fooEv", "_ZN3a.b3fooEv"},
    {"_ZN3foo3barEi", "foo::bar"},
    {"_ZN3fooC2Ev", "foo::foo"},
    {"_ZN3fooC4Ev", "foo::foo"},
    {"_ZN3fooD0Ev", "foo::~foo"},
    {"_ZN3foodaEPv", "foo::operator delete[]"},
    {"_ZN3foolsEi", "foo::operator<<"},
    {"_ZN3fooltERKS_", "foo::operator<"},
    {"_ZN3foonwEm", "foo::operator new"},
    {"_ZN3std2rt10lang_start17h0123456789abcdefE.llvm.7890", "std::rt::lang_start"},
    {"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$"
     "u7d$$GT$17h0123456789abcdefE",
     "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>"},
    {"_ZN9__gnu_cxx17__normal_iteratorIPiSt6vectorIiSaIiEEEppEv",
     "__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >::operator++"},
    {"_ZNK1AIiEcvT_IlEEv", "A<int>::operator long<long>"},
    {"_ZNK3fooclEi", "foo::operator()"},
    {"_ZNK3foocvPKcEv", "foo::operator char const*"},
    {"_ZNK3foocvbEv", "foo::operator bool"},
    {"_ZNK3fooixEi", "foo::operator[]"},
    {"_ZNK3fooptEv", "foo::operator->"},
    {"_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv",
     "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size"},
    {"_ZNO3foo3barEv", "foo::bar"},
    {"_ZNR3foo3barEv", "foo::bar"},
    {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"},
    {"_ZNSt8functionIFvvEEC2Ev", "std::function<void ()>::function"},
    {"_ZSt4sortIPiZ4mainEUliiE_EvT_S2_T0_", "std::sort<int*, main::{lambda(int, int)#1}>"},
    {"_ZTI3foo", "typeinfo for foo"},
    {"_ZTV3foo", "vtable for foo"},
    {"_ZThn8_N3foo3barEv", "non-virtual thunk to foo::bar"},
    {"_ZTv0_n24_N3foo3barEv", "virtual thunk to foo::bar"},
    {"_ZZ3runIiEvT_ENKUlS0_E_clEi", "run<int>::{lambda(auto:1)#1}::operator()"},
    {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
    {"_ZZN1AC1EvENKUlvE_clEv", "A::A::{lambda()#1}::operator()"},
    {"_ZZN3foo3barEiENKUlvE_clEv", "foo::bar::{lambda()#1}::operator()"},
    {"_ZZN3fooNKR3barEvENUlvE_clEv", "_ZZN3fooNKR3barEvENUlvE_clEv"},
    {"_ZZZ4mainENKUlvE_clEvENKUlvE0_clEv",
     "main::{lambda()#1}::operator()::{lambda()#2}::operator()"},
    {"_Zli2_kmPKc", "operator\"\" _k"},
    {"main", "main"},
    {"memcpy@@GLIBC_2.14", "memcpy"},
    {"memcpy@GLIBC_2.2.5", "memcpy"},
    {"memcpy@plt", "memcpy@plt"},
    {"_Z5applyIPFiiEvEvT_", "apply<int (*)(int), void>"},
    {"_ZN3fooD2Ev.isra.0", "foo::~foo.isra.0"},
    {"_ZNKSt6vectorIiE4sizeEv.part.0.constprop.1", "std::vector<int>::size.part.0.constprop.1"},
    {"_ZN3foocvPFviEEv", "foo::operator void (*)(int)"},
    {"_Z3gooN12_GLOBAL__N_11AE", "goo"},
    {"_ZN4llvm10checkedAddIiEENSt9enable_ifIXsr3std9is_signedIT_EE5valueENS_8OptionalIS2_"
     "EEE4typeES2_S2_",
     "llvm::checkedAdd<int>"},
    {"_ZN3foo3barEv._omp_fn.1", "foo::bar._omp_fn.1"},
    {"helper.lto_priv.3", "helper"},
    {"helper.constprop.0", "helper.constprop.0"},
    {"main.main", "main.main"},
    {"_RNvMNtCs9ltgdHTiPiY_4core3stre4trim", "<str>::trim"},
    {"_RNvC1au8gdel_5qa", "a::gödel"},
    {"_RNCNvCs1234_7mycrate4main0B3_", "mycrate::main::{closure#0}"},
    {"_RINvMs2_NtC4core3fmtNtB6_9Arguments3newKj2_Kan1_EC1a",
     "<core::fmt::Arguments>::new::<2, -1>"},
    {"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRDNtB6_5DebugEL_Bx_3fmtB8_",
     "<&dyn core::fmt::Debug as core::fmt::Debug>::fmt"},
    {"_RINvC1a1fFG0_RL1_eRL0_eEuE", "a::f::<for<'a, 'b> fn(&'a str, &'b str)>"},
    {"_RINvC1a1fQAhj4_TabEPxOfFUKCiEzE",
     "a::f::<&mut [u8; 4], (i8, bool), *const i64, *mut f32, unsafe extern \"C\" fn(isize) -> !>"},
    {"_RINvC1a1fL_E", "a::f::<'_>"},
    {"_RINvC1a1fKpKj3_KBa_E", "a::f::<_, 3, 3>"},
    {"_RINvC1a1fRjB7_E", "a::f::<&usize, &usize>"},
    {"_RINvC1a1fDNtC1a1Tp1XjEL_E", "a::f::<dyn a::T<X = usize>>"},
    /* Lifetimes without end, printed or not; back references to what is no path. */
    {"_RINvC1a1fFGzzz_EuE", "_RINvC1a1fFGzzz_EuE"},
    {"_RXYYSSFFFFGFFFFFFIB_", "_RXYYSSFFFFGFFFFFFIB_"},
    {"_RNvXC1aFGzzzzz_EuC1b1f", "_RNvXC1aFGzzzzz_EuC1b1f"},
    {"_RNvMC7aXC1bFGEuB3_1f", "_RNvMC7aXC1bFGEuB3_1f"},
    {"a@@@V2", "a"},
    {"@plt", "@plt"},
    {"a@V2.1.llvm.3", "a"},
    {"*Array(Int32)@Indexable(T)#each:Nil", "*Array(Int32)@Indexable(T)#each:Nil"},
    {"*Array(Int32)@Indexable(T)#each:Nil@@V1", "*Array(Int32)@Indexable(T)#each:Nil"},
    {"~procProc(Nil)@/app/src/job.cr:12", "~procProc(Nil)@/app/src/job.cr:12"},
    {"~proc2Proc(Nil)@src/a@b.cr:3.llvm.9", "~proc2Proc(Nil)@src/a@b.cr:3"},
    {"a@", "a@"},
    {"a@@", "a@@"},
    {"@@@@", "@@@@"},
    {"_Z3fooi@b c", "foo@b c"},
    {".", "."},
    {".cold", ".cold"},
    {"_ZTWN3foo1xE", "TLS wrapper function for foo::x"},
    {"_ZTHN3foo1xE", "TLS init function for foo::x"},
    {"_ZN1A1BIXsrSt6is_intIiE5valueEE1fEv", "A::B<std::is_int<int>::value>::f"},
    {"_ZGTtNKSt11logic_error4whatEv", "transaction clone for std::logic_error::what"},
    {"_Znwm", "operator new"},
    {"_ZdlPvm", "operator delete"},
    {"_Z1fM1AFvvE", "f"},
    {"_ZZ3foovE3bar", "foo::bar"},
    {"_ZZ3foovEN3bar3bazEv", "foo::bar::baz"},
};

START_TEST(names_become_readable)
{
    struct text out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        demangle(cases[i].mangled, &out);
        ck_assert_str_eq(out.s, cases[i].shown);
    }
    text_release(&out);
}
END_TEST

static __attribute__((noinline)) void fill_stack(int byte)
{
    char room[8192];
    memset(room, byte, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

/* Whatever lies on the stack, where libiberty leaves a variable unset. */
START_TEST(both_spellings_of_a_name_in_an_argument)
{
    static const char *const names[] = {"_Z1fIXsr1AE1xEEvv", "_Z1fIXsr1A1xEEvv",
                                        "_ZN1A1BIXsrSt6is_intIiE5valueEE1fEv"};
    struct text out = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int byte = 0; byte < 2; byte++) {
            fill_stack(byte);
            demangle(names[i], &out);
            ck_assert_str_eq(out.s, i < 2 ? "f<A::x>" : "A::B<std::is_int<int>::value>::f");
        }
    }
    text_release(&out);
}
END_TEST

static void cut_at_a_character(const char *head)
{
    struct text in = {0};
    struct text out = {0};
    text_add(&in, head);
    while (in.len < 3 * (size_t)MAX_SHOWN_NAME_BYTES)
        text_add(&in, "ä€");
    demangle(in.s, &out);
    ck_assert_uint_le(out.len, MAX_SHOWN_NAME_BYTES);
    ck_assert_uint_ge(out.len, MAX_SHOWN_NAME_BYTES - 3);
    ck_assert(str_ends(out.s, "ä…") || str_ends(out.s, "€…"));
    ck_assert_int_eq(strncmp(in.s, out.s, out.len - strlen("…")), 0);
    text_release(&in);
    text_release(&out);
}

START_TEST(long_names_are_cut_at_a_character)
{
    cut_at_a_character("");
    cut_at_a_character("a");
    cut_at_a_character("ab");
}
END_TEST

START_TEST(a_name_at_the_limit_is_whole)
{
    struct text in = {0};
    struct text out = {0};
    while (in.len < MAX_SHOWN_NAME_BYTES)
        text_add(&in, "x");
    demangle(in.s, &out);
    ck_assert_str_eq(out.s, in.s);
    text_release(&in);
    text_release(&out);
}
END_TEST

/* HEAD, then N times PART, then TAIL: must come back, with bounded stack and output. */
static void survive(const char *head, const char *part, size_t n, const char *tail)
{
    struct text in = {0};
    struct text out = {0};
    text_add(&in, head);
    for (size_t i = 0; i < n; i++)
        text_add(&in, part);
    text_add(&in, tail);
    demangle(in.s, &out);
    ck_assert_uint_gt(out.len, 0);
    ck_assert_uint_le(out.len, MAX_SHOWN_NAME_BYTES);
    text_release(&in);
    text_release(&out);
}

START_TEST(hostile_names_end_soon)
{
    static const size_t counts[] = {10, 500, 1300, 2000, 4000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t n = counts[i];
        survive("_Z1fI", "P", n, "iEvv");
        survive("_Z1fI", "1AI", n, "iE");
        survive("_Z", "N", n, "1fE");
        survive("_Z", "Z", n, "1fv");
        survive("_ZN", "1a", n, "E");
        survive("_Z1fIXadL_", "Z1fIXadL_", n, "E");
        survive("_Z1fI", "DT", n, "");
        survive("_Z1f", "FvF", n, "");
        survive("_Rv", "NvN", n, "");
        survive("_RNvC1a1b", "B_", n, "");
        survive("_RINvC1a1b", "R", n, "uE");
        survive("_ZN", "4.$LT", n, "17h0123456789abcdefE");
        survive("x", ".cold", n, "");
        survive("x", ".llvm.1", n, "");
    }
}
END_TEST

/* A<B,B>, then pairs of the last: the full name is exponentially long. */
START_TEST(exponential_names_end_soon)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct text in = {0};
    struct text out = {0};
    text_add(&in, "_Z1fI1A1BIS0_S0_E");
    for (int i = 2; i < 36; i++)
        text_addf(&in, "S1_IS%c_S%c_E", digits[i], digits[i]);
    text_add(&in, "Evv");
    demangle(in.s, &out);
    ck_assert(str_starts(out.s, "f<A, B<A, A>, B<B<A, A>, B<A, A> >, B<"));
    ck_assert_uint_ge(out.len, MAX_SHOWN_NAME_BYTES - 3);
    ck_assert(str_ends(out.s, "…"));
    text_release(&in);
    text_release(&out);
}
END_TEST

/* Each argument is local to the one before, and a part of it, too. */
START_TEST(exponential_scopes_end_soon)
{
    enum { ARGUMENTS = 35 };
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct text in = {0};
    struct text out = {0};
    text_add(&in, "_ZZN1aIZ1fvE1x");
    for (int i = 0; i < ARGUMENTS; i++)
        text_addf(&in, "ZNS%c_1fEENS%c_1gE", digits[i], digits[i]);
    text_addf(&in, "E1hEENS%c_1gE", digits[ARGUMENTS]);
    demangle(in.s, &out);
    ck_assert(str_starts(out.s, "a<f::x, f::x::f::f::x::g, f::x::f::f::x::g::f::f::x::"));
    ck_assert(str_ends(out.s, "…"));
    text_release(&in);
    text_release(&out);
}
END_TEST

/* B<B<…>, B<…>> in the parameters of f, which are not shown; f::x<the last of them...>::y. */
static void make_packed(struct text *name, int types, const char *tail)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    text_clear(name);
    text_add(name, "_ZZ1f1A1BIS_S_E");
    for (int i = 1; i < types; i++)
        text_addf(name, "S0_IS%c_S%c_E", digits[i], digits[i]);
    text_addf(name, "EN1xIJDpS%c_EE1y%s", digits[types], tail);
}

/* libiberty looks for the pack by all ways.  A name that it takes apart by one spelling of "sr"
 * alone has no tree. */
START_TEST(packs_in_exponential_types_end_soon)
{
    static const char *const tails[] = {"E", "IXsr1AE1xEEE", "IXsr1A1xEEE"};
    struct text name = {0};
    struct text out = {0};
    make_packed(&name, 3, "E");
    demangle(name.s, &out);
    ck_assert(str_starts(out.s, "f::x<(B<B<B<A, A>, B<A, A> >, B<B<A, A>, B<A, A> > >)...>::y"));
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        for (int byte = 0; byte < 2; byte++) {
            make_packed(&name, 35, tails[i]);
            fill_stack(byte);
            demangle(name.s, &out);
            ck_assert_str_eq(out.s, name.s);
        }
    text_release(&name);
    text_release(&out);
}
END_TEST

START_TEST(any_bytes_are_survived)
{
    uint64_t random = 1;
    for (int round = 0; round < 200; round++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct text in = {0};
            struct text out = {0};
            text_add(&in, cases[i].mangled);
            for (int flips = 0; flips < 2 && in.len; flips++) {
                random = random * 6364136223846793005U + 1442695040888963407U;
                in.s[(random >> 33) % in.len] = (char)(1 + (random >> 50) % 255);
            }
            demangle(in.s, &out);
            ck_assert_uint_le(out.len, MAX_SHOWN_NAME_BYTES);
            text_release(&in);
            text_release(&out);
        }
}
END_TEST

START_TEST(unsound_names_are_told)
{
    ck_assert(rust_v0_is_sound("_RINvC1a1fDNtC1a1Tp1XjEL_E"));
    ck_assert(!rust_v0_is_sound("_RINvC1a1fDNtC1a1TpXjEL_E"));
    ck_assert(!rust_v0_is_sound("_RINvC1a1fDNtC1a1Tp1XEEL_E")); /* X is no type */
    ck_assert(rust_v0_is_sound("_RC1a"));
    ck_assert(!rust_v0_is_sound("_ZC1a"));
}
END_TEST

START_TEST(sound_names_are_short)
{
    enum { MAX_BYTES = 4096 };
    struct text name = {0};
    text_add(&name, "_RINvC1a1f");
    while (name.len < MAX_BYTES - 2)
        text_add(&name, "u");
    text_add(&name, "E");
    ck_assert(rust_v0_is_sound(name.s));
    name.s[name.len - 1] = 'u';
    text_add(&name, "E");
    ck_assert(!rust_v0_is_sound(name.s));
    text_release(&name);
}
END_TEST

CHECK_MAIN("demangle", 20, names_become_readable, both_spellings_of_a_name_in_an_argument,
           long_names_are_cut_at_a_character, a_name_at_the_limit_is_whole, hostile_names_end_soon,
           exponential_names_end_soon, exponential_scopes_end_soon,
           packs_in_exponential_types_end_soon, any_bytes_are_survived, unsound_names_are_told,
           sound_names_are_short)
