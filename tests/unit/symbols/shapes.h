#pragma once
#ifdef __cplusplus
extern "C" {
#endif
int plain_c(int x);
int asm_entry(int x); /* no size, no type */
#ifdef __cplusplus
}
#endif
