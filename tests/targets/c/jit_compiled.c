/* What jit.c loads as a JIT compiler would have made it: no relocation is needed to run it. */
void compiled_outer(void (*callback)(void));

__attribute__((noinline)) static void compiled_inner(void (*callback)(void))
{
    char text[100] = {0};
    __asm__ volatile("" ::"r"(text) : "memory");
    callback();
    __asm__ volatile("" ::: "memory");
}

void compiled_outer(void (*callback)(void))
{
    compiled_inner(callback);
    __asm__ volatile("" ::: "memory");
}
