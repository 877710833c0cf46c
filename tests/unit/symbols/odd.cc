// What addr2line itself does not get right: see build.sh.
extern "C" int plain_c(int);

template <int N> struct Deep {
    static inline __attribute__((always_inline)) long f(long a) { return Deep<N - 1>::f(a) + 1; }
};
template <> struct Deep<0> {
    static inline __attribute__((always_inline)) long f(long a)
    {
        volatile long sum = a;
        for (int i = 0; i < 10; i++)
            sum = sum + i;
        return sum;
    }
};

extern "C" long generic(long a)
{
    auto f = [a](auto x) __attribute__((noipa)) { return a + (long)x; };
    return f(a) * 3;
}

// The linker drops it; it is larger than all the rest.
#define TIMES_8(x) x x x x x x x x
extern "C" long dropped(volatile long *a)
{
    TIMES_8(TIMES_8(TIMES_8(TIMES_8(*a = *a + 1;))))
    return *a;
}

#line 1000 "outer.cc"
extern "C" __attribute__((noinline)) long deep(long a)
{
    return Deep<80>::f(a);
}

int main(int argc, char **) { return (int)(deep(argc) + generic(argc)) + plain_c(argc); }
