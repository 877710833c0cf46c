/* A CPython of a version yet to come, as far as its _PyRuntime tells. */
#include <stdint.h>

__attribute__((visibility("default"))) struct {
    char cookie[8];
    uint64_t version;
    char rest[4096];
} _PyRuntime = {{'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'}, 0x036300f0, {0}};
