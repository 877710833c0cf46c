#include "symbolizer/v8_name.h"

#include "tests/support/check_main.h"

static const struct {
    const char *name, *function, *file; /* FUNCTION: NULL: none of V8's */
    uint32_t line;
} names[] = {
    {"JS:*price /app/shop.js:2:15", "price", "/app/shop.js", 2},
    {"JS:^ /app/shop.js:7:13", "(anonymous)", "/app/shop.js", 7},
    {"JS:+'get total /app/my shop/cart.js:70:3", "get total", "/app/my shop/cart.js", 70},
    {"LazyCompile:~load file:///app/a.mjs:1:2", "load", "/app/a.mjs", 1},
    {"Script:~ /app/shop.js:1:1", "(anonymous)", "/app/shop.js", 1},
    {"JS:^listOnTimeout node:internal/timers:514:25", NULL, NULL, 0},
    {"Builtin:ArrayPush", NULL, NULL, 0},
    {"JS:*price /app/shop.js:2", NULL, NULL, 0},
    {"JS:*price /app/shop.js:99999999999:2", NULL, NULL, 0},
    {"JS:*price /app/shop.js::", NULL, NULL, 0},
    {"JS:*", NULL, NULL, 0},
    {"price /app/shop.js:2:15", NULL, NULL, 0},
};

START_TEST(a_name_has_its_function_and_place)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct v8_name name;
        bool parsed = v8_name_parse(names[i].name, &name);
        ck_assert_msg(parsed == (names[i].function != NULL), "%s", names[i].name);
        if (parsed) {
            ck_assert_str_eq(name.function.s, names[i].function);
            ck_assert_str_eq(name.file.s, names[i].file);
        }
        ck_assert_uint_eq(name.line, names[i].line);
        v8_name_release(&name);
    }
}
END_TEST

CHECK_MAIN("v8_name", 20, a_name_has_its_function_and_place)
